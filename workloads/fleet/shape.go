// This file defines slices: the tori of chips that jobs request. A slice consists of whole
// cubes of 4x4x4 chips, which optical switches join, or is a part of one cube.

package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The components of a pod (Zu et al., "Resiliency at Scale: Managing Google's TPUv4 Machine
// Learning Supercomputer", NSDI 24, Sec. 3.1).
const (
	Side         = 4                        // chips of a cube along each dimension
	CubeChips    = Side * Side * Side       // chips per cube
	MachineChips = 4                        // chips per machine
	CubeHosts    = CubeChips / MachineChips // machines per cube
	PodCubes     = 64                       // cubes of a full pod
	CubeLinks    = 96                       // optical links of a cube: 16 on each of 6 faces
	CubeCables   = 80                       // electrical links between the machines of a cube
	PodSwitches  = 48                       // optical circuit switches of a pod
	maxSide      = PodCubes * Side          // maximum number of chips along a dimension: all cubes in a row
)

// ErrShape is wrapped by errors about invalid slices.
var ErrShape = errors.New("fleet: no such slice")

// Shape is the shape of a slice: the number of chips along each dimension, the smallest
// first, and whether its wrap-around links are twisted.
type Shape struct {
	Dims    [3]int
	Twisted bool
}

// Chips returns the number of chips of a slice.
func (s Shape) Chips() int { return s.Dims[0] * s.Dims[1] * s.Dims[2] }

// Cubes returns the number of cubes of a slice, or 0 if it is part of a cube.
func (s Shape) Cubes() int {
	if s.Dims[0]%Side != 0 {
		return 0
	}
	return s.Chips() / CubeChips
}

// String formats a slice as ParseShape parses it.
func (s Shape) String() string {
	text := fmt.Sprintf("%dx%dx%d", s.Dims[0], s.Dims[1], s.Dims[2])
	if s.Twisted {
		text += "T"
	}
	return text
}

// CanTwist reports whether the wrap-around links of a slice can be twisted: whole cubes
// with n x n x 2n or n x 2n x 2n chips.
func (s Shape) CanTwist() bool {
	a, b, c := s.Dims[0], s.Dims[1], s.Dims[2]
	return s.Cubes() > 0 && c == 2*a && (b == a || b == c)
}

// ParseShape parses a slice such as 4x4x8, with T at the end if it is twisted. It sorts
// the sides.
//
// It fails with ErrShape unless the slice consists of whole cubes, at most PodCubes, or
// is a part of a cube whose sides are powers of two. A twisted slice must be n x n x 2n
// or n x 2n x 2n.
func ParseShape(text string) (Shape, error) {
	var s Shape
	body, twisted := strings.CutSuffix(text, "T")
	s.Twisted = twisted
	sides := strings.Split(body, "x")
	if len(sides) != 3 {
		return s, fmt.Errorf("%w: %.40q; write three sides such as 4x4x8, with T at the end if twisted", ErrShape, text)
	}
	for i, side := range sides {
		n, err := strconv.Atoi(side)
		if err != nil || n < 1 || n > maxSide {
			return s, fmt.Errorf("%w: %.40q; sides are 1 to %d chips", ErrShape, text, maxSide)
		}
		s.Dims[i] = n
	}
	slices.Sort(s.Dims[:])
	return s, s.check()
}

// check fails with ErrShape if the slice is invalid.
func (s Shape) check() error {
	a, b, c := s.Dims[0], s.Dims[1], s.Dims[2]
	isWholeCubes := a%Side == 0 && b%Side == 0 && c%Side == 0
	isPartOfCube := c <= Side && s.Chips() < CubeChips && isPowerOfTwo(a) && isPowerOfTwo(b) && isPowerOfTwo(c)
	switch {
	case !isWholeCubes && !isPartOfCube:
		return fmt.Errorf("%w: %s; sides are multiples of %d chips, or 1, 2 and %d within a cube",
			ErrShape, s, Side, Side)
	case s.Chips() > PodCubes*CubeChips:
		return fmt.Errorf("%w: %s has %d chips; a pod has %d", ErrShape, s, s.Chips(), PodCubes*CubeChips)
	case s.Twisted && !s.CanTwist():
		return fmt.Errorf("%w: %s; of whole cubes n x n x 2n and n x 2n x 2n can be twisted", ErrShape, s)
	}
	return nil
}

// isPowerOfTwo reports whether n, which is positive, is a power of two.
func isPowerOfTwo(n int) bool { return n&(n-1) == 0 }
