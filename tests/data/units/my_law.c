/* The law of foreign_law.toml in C. */

#include <stdbool.h>

double lag(double x, double u, double T, double h)
{
    return x + (u - x) * h / (T + h);
}

void law(double t, double h, const double *u, const double *p, const double *x, double *y, double *new)
{
    bool on = u[1] > 0.5;
    y[0] = on ? x[0] + p[1] * u[0] : x[0];
    new[0] = lag(x[0], u[0], p[0], h);
}
