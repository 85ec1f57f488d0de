/* A controller with the four functions: a lag with a dead zone, and its integral. x: slow, whole; p: T, k. */

#include <math.h>

int initialise(const double *p, const double *u, double *x)
{
    x[0] = 0.25 * u[0];
    x[1] = p[1];
    return p[0] > 0.0 ? 0 : 2;
}

void derivative(double t, const double *x, const double *u, const double *p, double *dx)
{
    dx[0] = (u[0] * u[0] - x[0]) / p[0];
    dx[1] = x[0] + 0.5 * t;
}

void output(double t, const double *x, const double *u, const double *p, double *y)
{
    y[0] = p[1] * x[0] * x[1] + fabs(u[0]) * t;
}

int step(double t, double h, const double *x, const double *u, const double *p, double *new, double *y)
{
    double a = h / p[0];
    new[0] = (x[0] + a * u[0] * u[0]) / (1.0 + a);
    new[1] = x[1] + h * (x[0] + 0.5 * t);
    output(t + h, new, u, p, y);
    return u[0] > 9.0 ? 2 : u[0] > 5.0;
}

void initialise_dot(const double *p, const double *u, const double *p_dot, const double *u_dot, double *x_dot)
{
    x_dot[0] = 0.25 * u_dot[0];
    x_dot[1] = p_dot[1];
}

void derivative_dot(double t, const double *x, const double *u, const double *p, double t_dot, const double *x_dot,
                    const double *u_dot, const double *p_dot, double *dx_dot)
{
    dx_dot[0] = (2.0 * u[0] * u_dot[0] - x_dot[0] - (u[0] * u[0] - x[0]) / p[0] * p_dot[0]) / p[0];
    dx_dot[1] = x_dot[0] + 0.5 * t_dot;
}

void output_dot(double t, const double *x, const double *u, const double *p, double t_dot, const double *x_dot,
                const double *u_dot, const double *p_dot, double *y_dot)
{
    y_dot[0] = p_dot[1] * x[0] * x[1] + p[1] * (x_dot[0] * x[1] + x[0] * x_dot[1]);
    y_dot[0] += (u[0] < 0.0 ? -u_dot[0] : u_dot[0]) * t + fabs(u[0]) * t_dot;
}

void step_dot(double t, double h, const double *x, const double *u, const double *p, double t_dot, double h_dot,
              const double *x_dot, const double *u_dot, const double *p_dot, double *new_dot, double *y_dot)
{
    double a = h / p[0], a_dot = (h_dot - a * p_dot[0]) / p[0], y[1], new[2];
    step(t, h, x, u, p, new, y);
    new_dot[0] = (x_dot[0] + a_dot * u[0] * u[0] + 2.0 * a * u[0] * u_dot[0] - new[0] * a_dot) / (1.0 + a);
    new_dot[1] = x_dot[1] + h_dot * (x[0] + 0.5 * t) + h * (x_dot[0] + 0.5 * t_dot);
    output_dot(t + h, new, u, p, t_dot + h_dot, new_dot, u_dot, p_dot, y_dot);
}
