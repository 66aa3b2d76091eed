// Package numbers makes slices of consecutive numbers, which searches permute and sample.
package numbers

// Below returns the numbers 0 to n-1.
func Below[T int | int32](n T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = T(i)
	}
	return all
}
