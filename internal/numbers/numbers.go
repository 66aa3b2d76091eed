// Package numbers makes slices of consecutive numbers, which searches permute and sample, divides
// numbers into factors, and computes quantiles.
package numbers

import (
	"math"
	"slices"
)

// Below returns the numbers 0 to n-1.
func Below[T int | int16 | int32](n T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = T(i)
	}
	return all
}

// Factors returns three factors of n, which is at least 1, in ascending order. Of all such factors
// they have the smallest sum, so a box with these sides is as cubic as possible.
func Factors(n int) [3]int {
	best := [3]int{1, 1, n}
	for a := 1; a*a*a <= n; a++ {
		for b := a; a*b*b <= n; b++ {
			if c := n / (a * b); a*b*c == n && a+b+c < best[0]+best[1]+best[2] {
				best = [3]int{a, b, c}
			}
		}
	}
	return best
}

// Quantile returns the p-quantile by the nearest-rank method: the smallest value such
// that at least a fraction p of the values do not exceed it.
func Quantile(v []float64, p float64) float64 {
	v = slices.Sorted(slices.Values(v))
	const slack = 1e-9 // absorbs rounding errors: 0.95 x 100 must count as 95
	rank := int(math.Ceil(p*float64(len(v)) - slack))
	return v[max(0, rank-1)]
}
