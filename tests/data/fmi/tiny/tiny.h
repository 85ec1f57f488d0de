#define LIMIT 200

double lagged(double y, double u, double h);
