// Package units parses and formats quantities with units: rates ("400Gbps", "50GB/s"), sizes
// ("4MB", "64KiB"), times ("500ns") and frequencies ("2/week"). Prefixes are powers of 1000 (k,
// M, G, T, P) or of 1024 (Ki, Mi, Gi, Ti, Pi). b is a bit, B is a byte.
//
// Parsing and formatting are exact: parsing the result of a String method returns the same value.
// Scenarios use this package for every quantity in a file and check the ranges themselves.
package units
