// Package units reads and writes quantities with units: rates ("400Gbps", "50GB/s"), sizes ("4MB", "64KiB") and times
// ("500ns"). Prefixes are powers of 1000 (k, M, G, T, P) or of 1024 (Ki, Mi, Gi, Ti, Pi); b is a bit, B a byte.
//
// Reading and writing are exact: what a String method writes is read back as the same value. It leaves bounds to
// whoever knows what a quantity is for; scenarios uses it for every quantity in a file.
package units
