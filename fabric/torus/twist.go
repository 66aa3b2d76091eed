package torus

import (
	"fmt"
	"slices"
	"strings"
)

// TPUv4 is the pattern of the twisted torus that TPU v4 uses for a shape (TPU v4, Sec. 2.5).
const TPUv4 = "tpuv4"

// twistPairs lists the dimensions i|j of each bit of a twist pattern. The bit shifts the
// wrap-around links of dimension i by half the size of dimension j, rounded down.
var twistPairs = [6][2]int{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}

// TwistPatterns returns all patterns of six bits that Twist accepts, in ascending order.
func TwistPatterns() []string {
	patterns := make([]string, 1<<len(twistPairs))
	for i := range patterns {
		patterns[i] = fmt.Sprintf("%0*b", len(twistPairs), i)
	}
	return patterns
}

// Twist twists a torus of three dimensions. The pattern is TPUv4, or six bits in the order x|y,
// x|z, y|x, y|z, z|x, z|y (Gottipati, Sec. II). Several twists of one dimension are added as one
// vector. It returns an error if there are not three dimensions or if a twisted dimension is
// open.
func (t *Torus) Twist(pattern string) error {
	if len(t.Dims) != 3 {
		return fmt.Errorf("%w: a twist pattern is of three dimensions, not of %d",
			ErrShape, len(t.Dims))
	}
	if pattern == TPUv4 {
		return t.twistTPUv4()
	}
	if len(pattern) != len(twistPairs) || strings.Trim(pattern, "01") != "" {
		return fmt.Errorf("%w: twist %q is neither %q nor six bits for x|y, x|z, y|x, y|z, z|x, z|y, such as \"001000\"",
			ErrShape, pattern, TPUv4)
	}

	shift := make([][]int, 3)
	for b, p := range twistPairs {
		if shift[p[0]] == nil {
			shift[p[0]] = make([]int, 3)
		}
		if pattern[b] == '1' {
			shift[p[0]][p[1]] = t.Dims[p[1]] / 2
		}
	}
	return t.SetShift(shift)
}

// twistTPUv4 twists k x k x 2k and k x 2k x 2k, with the dimensions in any order. The
// wrap-around links of a short dimension are shifted by half the size of every long one.
func (t *Torus) twistTPUv4() error {
	short, long := slices.Min(t.Dims), slices.Max(t.Dims)
	for _, n := range t.Dims {
		if long != 2*short || n != short && n != long {
			return fmt.Errorf("%w: TPU v4 twists k x k x 2k and k x 2k x 2k, not %s", ErrShape, t)
		}
	}

	shift := make([][]int, 3)
	for i, n := range t.Dims {
		shift[i] = make([]int, 3)
		for j, m := range t.Dims {
			if n == short && m == long {
				shift[i][j] = short
			}
		}
	}
	return t.SetShift(shift)
}

// SetShift sets the shift vectors of wrap-around links, indexed by dimension; nil means no
// twist. It returns an error if the vectors do not match the dimensions, shift a dimension along
// itself, or belong to an open dimension.
func (t *Torus) SetShift(shift [][]int) error {
	if shift == nil {
		t.Shift = nil
		return nil
	}
	if len(shift) != len(t.Dims) {
		return fmt.Errorf("%w: %d shift vectors for %d dimensions",
			ErrShape, len(shift), len(t.Dims))
	}

	out, twisted := make([][]int, len(shift)), false
	for i, v := range shift {
		if len(v) != 0 && len(v) != len(t.Dims) {
			return fmt.Errorf("%w: shift of %s has %d components for %d dimensions",
				ErrShape, DimName(i), len(v), len(t.Dims))
		}
		out[i] = make([]int, len(t.Dims))
		for j, delta := range v {
			delta = mod(delta, t.Dims[j])
			switch {
			case delta == 0:
				continue
			case i == j:
				return fmt.Errorf("%w: dimension %s cannot be shifted along itself",
					ErrShape, DimName(i))
			case t.Open[i]:
				return fmt.Errorf("%w: dimension %s is open, so it has no wrap-around links to twist",
					ErrShape, DimName(i))
			}
			out[i][j], twisted = delta, true
		}
	}
	if t.Shift = nil; twisted {
		t.Shift = out
	}
	return nil
}

// Symmetric reports whether the torus provably looks the same from every node: all dimensions
// are wrapped, and no dimension along which links are shifted is twisted itself. Then hops
// commute, and the torus is a Cayley graph of an Abelian group. With mutual twists they do not
// commute.
func (t *Torus) Symmetric() bool {
	if slices.Contains(t.Open, true) {
		return false
	}
	for _, v := range t.Shift {
		for j, delta := range v {
			if delta != 0 && slices.ContainsFunc(t.Shift[j], func(c int) bool { return c != 0 }) {
				return false
			}
		}
	}
	return true
}

// String returns the sizes, such as 4x4x8.
func (t *Torus) String() string {
	words := make([]string, len(t.Dims))
	for i, n := range t.Dims {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, "x")
}
