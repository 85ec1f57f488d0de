/* FMUs within this unit: included by core.c if model.c has the table GUESTS. At its communication point each gets its
   inputs and parameters and, when the unit arrives at the next one, makes its step; its outputs are then states of the
   unit and constant up to the point that follows (`rtcvt.network.foreign`). */

static void say(void *environment, const char *guest, int status, const char *text)
{
    const Instance *I = environment;
    char line[600];
    snprintf(line, sizeof line, "%s: %s", guest, text ? text : "");
    if (status != (int)OK) {
        report(I->host, I->name, (Status)status, line);
    }
}

static void end_guest(Instance *I, size_t k, bool failed)
{
    if (I->guests[k]) {
        GUESTS[k]->end(I->guests[k], failed);
        I->guests[k] = NULL;
    }
}

static void end_guests(Instance *I)
{
    for (size_t k = 0; k < N_GUESTS; k++) {
        const Guest *g = GUESTS[k];
        end_guest(I, k, false);
        memcpy(I->p + g->p + g->n_p, P_START + g->p + g->n_p, g->n_y * sizeof(double));
    }
}

static const double *guest_inputs(Instance *I, const Guest *g)
{
    for (size_t i = 0; i < g->n_u; i++) {
        I->guest_u[i] = g->u[i] < N_Y ? I->y[g->u[i]] : I->u[g->u[i] - N_Y];
    }
    return I->guest_u;
}

static bool fail_guest(Instance *I, size_t k, const char *what)
{
    refuse(I, ERROR, "%s: the FMU failed %s at t = %g s", GUESTS[k]->name, what, I->t);
    end_guest(I, k, true);
    return false;
}

/* Start them one by one: the unit then starts with their outputs. */
static bool start_guests(Instance *I)
{
    I->guest_start = I->t;
    for (size_t k = 0; k < N_GUESTS; k++) {
        const Guest *g = GUESTS[k];
        I->guest_steps[k] = 0;
        memcpy(I->held + g->p, g->held, g->n_p * sizeof(double));
        I->guests[k] = g->make(say, I, I->resources);
        if (!I->guests[k] || !g->tune(I->guests[k], I->p + g->p, I->held + g->p)
            || !g->initialise(I->guests[k], guest_inputs(I, g)) || !g->get(I->guests[k], I->p + g->p + g->n_p)) {
            return fail_guest(I, k, "in its initialisation");
        }
        if (!start_state(I)) {
            return false;
        }
    }
    return true;
}

static double next_point(const Instance *I, size_t k)
{
    return I->guest_start + (double)(I->guest_steps[k] + 1) * GUESTS[k]->step;
}

/* Give inputs to those that are at their point, and find the next point [s]. */
static bool begin_guests(Instance *I, double *point)
{
    *point = INFINITY;
    for (size_t k = 0; k < N_GUESTS; k++) {
        const Guest *g = GUESTS[k];
        if (I->t - next_point(I, k) < (1e-3 - 1.0) * g->step
            && (!g->tune(I->guests[k], I->p + g->p, I->held + g->p) || !g->set(I->guests[k], guest_inputs(I, g)))) {
            return fail_guest(I, k, "to take its inputs");
        }
        *point = fmin(*point, next_point(I, k));
    }
    return true;
}

/* Let those make their step whose next point the unit has come to. */
static bool follow_guests(Instance *I)
{
    for (size_t k = 0; k < N_GUESTS; k++) {
        const Guest *g = GUESTS[k];
        if (I->t < next_point(I, k) - 1e-3 * g->step) {
            continue;
        }
        if (!g->step_to(I->guests[k], (long)I->guest_steps[k]) || !g->get(I->guests[k], I->x + g->x)
            || !all_finite(I->x + g->x, g->n_y)) {
            return fail_guest(I, k, "in its step");
        }
        memcpy(I->y + g->y, I->x + g->x, g->n_y * sizeof(double));
        I->guest_steps[k]++;
    }
    return true;
}

/* One communication step in pieces that end at points of the FMUs. */
static Status step_with_guests(Instance *I, double t, double h)
{
    double done = 0.0, point;
    while (done < h && begin_guests(I, &point)) {
        double piece = h - done;
        if (point - I->t < piece * (1.0 - 1e-3)) {
            piece = point - I->t;
        }
        bool good = inputs_move(I) ? step_with_moving_inputs(I, t + done, piece)
                                   : rt_step(t + done, piece, I->x, I->u, I->p, DATA, I->y, I->work) != STATUS_FAILED;
        if (!good && done == 0.0) {
            return refuse_step(I, t, h);
        }
        done = piece < h - done ? done + piece : h;
        I->t = t + done;
        if (!good || !follow_guests(I)) {
            break;
        }
        if (done >= h) {
            return OK;
        }
    }
    I->mode = TERMINATED; /* the FMUs cannot go back to where the step began */
    return refuse(I, ERROR, "the step of %g s from t = %g s failed; the simulation is over", h, t);
}

/* --- saved states ------------------------------------------------------------------------------------------------- */

#define REQUIRE_OWN_STATE \
    return refuse(I, ERROR, "%s: the state of an FMU within this unit is no row of bytes", __func__);

static bool fail_state(const Instance *I, size_t k)
{
    refuse(I, ERROR, "%s: the FMU cannot copy its state", GUESTS[k]->name);
    return false;
}

/* Complete a snapshot; `kept` is one whose memory is used again. */
static bool save_guests(Instance *I, Snapshot *s, const Snapshot *kept)
{
    memcpy(s->guest_steps, I->guest_steps, sizeof s->guest_steps);
    memcpy(s->held, I->held, sizeof s->held);
    s->guest_start = I->guest_start;
    for (size_t k = 0; k < N_GUESTS; k++) {
        s->guests[k].state = kept ? kept->guests[k].state : NULL;
        if (I->guests[k] && !GUESTS[k]->state(I->guests[k], GET_STATE, &s->guests[k].state)) {
            return fail_state(I, k);
        }
    }
    s->checksum = checksum(s);
    return true;
}

static bool restore_guests(Instance *I, const Snapshot *s)
{
    for (size_t k = 0; k < N_GUESTS; k++) {
        void *state = s->guests[k].state;
        if (state && !I->guests[k]) {
            I->guests[k] = GUESTS[k]->make(say, I, I->resources);
        }
        if (state && (!I->guests[k] || !GUESTS[k]->state(I->guests[k], SET_STATE, &state))) {
            return fail_state(I, k);
        }
    }
    memcpy(I->guest_steps, s->guest_steps, sizeof s->guest_steps);
    memcpy(I->held, s->held, sizeof s->held);
    I->guest_start = s->guest_start;
    return true;
}

static void free_guests(Instance *I, Snapshot *s)
{
    for (size_t k = 0; k < N_GUESTS; k++) {
        if (s->guests[k].state && I->guests[k]) {
            (void)GUESTS[k]->state(I->guests[k], FREE_STATE, &s->guests[k].state);
        }
    }
}
