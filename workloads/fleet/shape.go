// This file defines slices: the tori of chips that jobs request. A slice consists of whole
// cubes, which optical switches join, or is a part of one cube.

package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/fabric/torus"
)

// Limits of the pods of a fleet.
const (
	MaxCubes     = 256 // cubes of a pod; sets of them have as many bits
	MaxCubeChips = 64  // chips of a cube; sets of them are words of 64 bits
)

// CheckPod returns an error if the fleet cannot have such pods.
func CheckPod(p *torus.Pod) error {
	if p.Cubes > MaxCubes || p.Cube.Chips() > MaxCubeChips {
		return fmt.Errorf("fleet: a pod of %d cubes of %s chips; a fleet has pods of up to %d cubes of up to %d chips",
			p.Cubes, p.Cube, MaxCubes, MaxCubeChips)
	}
	return p.Check()
}

// ErrShape is wrapped by errors about invalid slices.
var ErrShape = errors.New("fleet: no such slice")

// Shape is the shape of a slice: the number of chips along each dimension, the smallest
// first, and whether its wrap-around links are twisted. Shapes are equal if they compare
// equal.
type Shape struct {
	Dims    [3]int
	Twisted bool

	otherCube torus.Box // cube of the pod; zero for torus.TPUCube
}

// NewShape returns the regular slice with the given sides in a pod of the given cubes. It
// sorts the sides.
func NewShape(cube torus.Box, sides [3]int) Shape {
	s := Shape{Dims: sides, otherCube: cube}
	if cube == torus.TPUCube {
		s.otherCube = torus.Box{}
	}
	slices.Sort(s.Dims[:])
	return s
}

// Cube returns the cube of the slice's pod.
func (s Shape) Cube() torus.Box {
	if s.otherCube == (torus.Box{}) {
		return torus.TPUCube
	}
	return s.otherCube
}

// Chips returns the number of chips of a slice.
func (s Shape) Chips() int { return s.Dims[0] * s.Dims[1] * s.Dims[2] }

// Cubes returns the number of cubes of a slice, or 0 if it is part of a cube.
func (s Shape) Cubes() int { return s.Chips() / s.Cube().Chips() }

// Sides returns the sides of a slice of whole cubes along the dimensions of its cubes: the
// first order of Dims in which each is a multiple of the cube's side. It returns false if
// no order is.
func (s Shape) Sides() (sides [3]int, ok bool) {
	cube := s.Cube()
	for _, order := range torus.AxisOrders {
		a, b, c := s.Dims[order[0]], s.Dims[order[1]], s.Dims[order[2]]
		if a%cube[0] == 0 && b%cube[1] == 0 && c%cube[2] == 0 {
			return [3]int{a, b, c}, true
		}
	}
	return sides, false
}

// Torus returns the torus that the chips of a slice of whole cubes form. It fails if the
// cubes cannot be joined to it.
func (s Shape) Torus() (*torus.Torus, error) {
	sides, ok := s.Sides()
	if !ok {
		return nil, fmt.Errorf("%w: %s; sides are multiples of %s", ErrShape, s, s.Cube().Sides())
	}
	t, err := torus.New(sides[:]...)
	if err == nil && s.Twisted {
		err = t.Twist(torus.TPUv4)
	}
	if err != nil {
		return nil, err
	}
	t.Cube = s.Cube()
	return t, torus.CheckCubic(t)
}

// SlicesOf returns the regular slices of n whole cubes, ordered by their sides.
func SlicesOf(cube torus.Box, n int) []Shape {
	var list []Shape
	for a := 1; a <= n; a++ {
		for b := 1; a*b <= n; b++ {
			if c := n / (a * b); a*b*c == n {
				list = append(list, NewShape(cube, [3]int{a * cube[0], b * cube[1], c * cube[2]}))
			}
		}
	}
	slices.SortFunc(list, func(a, b Shape) int { return slices.Compare(a.Dims[:], b.Dims[:]) })
	return slices.Compact(list)
}

// String formats a slice as ParseShape parses it.
func (s Shape) String() string {
	text := torus.Box(s.Dims).String()
	if s.Twisted {
		text += "T"
	}
	return text
}

// CanTwist reports whether the wrap-around links of a slice can be twisted: whole cubes
// with n x n x 2n or n x 2n x 2n chips, whose twisted links lead to the same place of the
// face of another cube.
func (s Shape) CanTwist() bool {
	if s.Twisted = s.Dims[2] == 2*s.Dims[0]; !s.Twisted {
		return false
	}
	_, err := s.Torus()
	return err == nil
}

// ParseShape parses a slice of a pod such as 4x4x8, with T at the end if it is twisted. It
// sorts the sides.
//
// It fails with ErrShape unless the slice consists of whole cubes and is no larger than
// the pod's largest slice, or is a part of a cube whose sides are powers of two. A twisted
// slice must be n x n x 2n or n x 2n x 2n.
func ParseShape(text string, pod *torus.Pod) (Shape, error) {
	body, twisted := strings.CutSuffix(text, "T")
	sides := strings.Split(body, "x")
	if len(sides) != 3 {
		return Shape{}, fmt.Errorf("%w: %.40q; write three sides such as 4x4x8, with T at the end if twisted", ErrShape, text)
	}
	var dims [3]int
	maxSide := pod.Cubes * slices.Max(pod.Cube[:])
	for i, side := range sides {
		n, err := strconv.Atoi(side)
		if err != nil || n < 1 || n > maxSide {
			return Shape{}, fmt.Errorf("%w: %.40q; sides are 1 to %d chips", ErrShape, text, maxSide)
		}
		dims[i] = n
	}
	s := NewShape(pod.Cube, dims)
	s.Twisted = twisted
	return s, s.check(pod)
}

// check fails with ErrShape if the slice is not one of the pod's.
func (s Shape) check(pod *torus.Pod) error {
	cube := pod.Cube
	_, isWhole := s.Sides()
	inCube := s.Cubes() == 0 && s.fits(cube)
	for _, n := range s.Dims {
		inCube = inCube && n&(n-1) == 0 // a power of two
	}
	switch {
	case s.Cube() != cube:
		return fmt.Errorf("%w: %s is of cubes of %s chips, and the pod has cubes of %s", ErrShape, s, s.Cube(), cube)
	case !isWhole && !inCube:
		return fmt.Errorf("%w: %s; sides are multiples of %s, or powers of two within a cube",
			ErrShape, s, cube.Sides())
	case s.Chips() > pod.MaxSlice:
		return fmt.Errorf("%w: %s has %d chips; the largest slice has %d", ErrShape, s, s.Chips(), pod.MaxSlice)
	case s.Twisted && !s.CanTwist():
		return fmt.Errorf("%w: %s; of whole cubes n x n x 2n and n x 2n x 2n can be twisted", ErrShape, s)
	}
	return nil
}

// fits reports whether a box with the sides of the slice, in any order, fits into a box.
func (s Shape) fits(box torus.Box) bool {
	slices.Sort(box[:])
	return s.Dims[0] <= box[0] && s.Dims[1] <= box[1] && s.Dims[2] <= box[2]
}
