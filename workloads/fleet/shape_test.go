package fleet

import (
	"errors"
	"fmt"
	"testing"

	"sim/fabric/torus"
)

// TestSlicesOfPods compares the slices of pods of small cubes with all boxes of chips: a slice of
// whole cubes has, in some order, sides that are multiples of the cube's, and no more chips than
// the largest slice; a part of a cube is a box of it whose sides are powers of two. A slice can be
// twisted if its cubes can then be joined.
func TestSlicesOfPods(t *testing.T) {
	for _, cube := range []torus.Box{{2, 2, 2}, {4, 4, 2}, {4, 2, 1}, {3, 3, 3}, {2, 6, 1}} {
		pod := &torus.Pod{Cubes: 8, Cube: cube, Host: torus.Box{1, 1, 1}, MaxSlice: 7 * cube.Chips()}
		whole := map[int]map[Shape]bool{} // slices by their cubes
		for a := 1; a <= 12; a++ {
			for b := a; b <= 12; b++ {
				for c := b; c <= 12; c++ {
					isWhole, isPart := false, false
					for _, o := range torus.AxisOrders {
						dims := [3]int{a, b, c}
						x, y, z := dims[o[0]], dims[o[1]], dims[o[2]]
						isWhole = isWhole || x%cube[0] == 0 && y%cube[1] == 0 && z%cube[2] == 0
						isPart = isPart || x <= cube[0] && y <= cube[1] && z <= cube[2]
					}
					powers := 0
					for p := 1; p <= 8; p *= 2 {
						for _, n := range []int{a, b, c} {
							if n == p {
								powers++
							}
						}
					}
					isPart = isPart && !isWhole && powers == 3
					chips := a * b * c
					want := isPart || isWhole && chips <= pod.MaxSlice

					text := fmt.Sprintf("%dx%dx%d", c, a, b)
					s, err := ParseShape(text, pod)
					if (err == nil) != want || err != nil && !errors.Is(err, ErrShape) {
						t.Fatalf("cubes of %s: %s is a slice: %v, want %v", cube, text, err, want)
					}
					if isWhole {
						if s = NewShape(cube, [3]int{c, a, b}); s.Cubes() != chips/cube.Chips() {
							t.Errorf("cubes of %s: %s has %d, want %d", cube, s, s.Cubes(), chips/cube.Chips())
						}
						if whole[s.Cubes()] == nil {
							whole[s.Cubes()] = map[Shape]bool{}
						}
						whole[s.Cubes()][s] = true
					}
					if err != nil {
						continue
					}
					if isPart && s.Cubes() != 0 {
						t.Errorf("cubes of %s: %s has %d cubes, want a part of one", cube, s, s.Cubes())
					}
					twisted, err := ParseShape(text+"T", pod)
					canTwist := false
					if sides, ok := s.Sides(); ok && c == 2*a && (b == a || b == c) {
						canTwist = true
						for d, n := range sides {
							// Links are shifted by half the longest side along the dimensions that have it.
							canTwist = canTwist && (n != c || a%cube[d] == 0)
						}
					}
					if (err == nil) != canTwist || s.CanTwist() != canTwist || err == nil && twisted.String() != s.String()+"T" {
						t.Errorf("cubes of %s: %sT is a slice: %v, want %v", cube, s, err, canTwist)
					}
				}
			}
		}
		// Slices of two cubes have sides of up to 12 chips, so all of them are among the boxes.
		for n := 1; n <= 2; n++ {
			list := SlicesOf(cube, n)
			for _, s := range list {
				if !whole[n][s] {
					t.Errorf("cubes of %s: %s is no slice of %d, or is listed twice", cube, s, n)
				}
				delete(whole[n], s)
			}
			for s := range whole[n] {
				t.Errorf("cubes of %s: slice %s of %d is missing from %v", cube, s, n, list)
			}
		}
	}
}

// TestCheckPod: a fleet can have the pods of all presets, and no larger ones.
func TestCheckPod(t *testing.T) {
	for _, p := range torus.Presets() {
		if err := CheckPod(&p.Pod); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		for text, want := range map[string]int{"4x4x256": 64, "16x16x24": 96, "8x16x16T": 32} {
			if s, err := ParseShape(text, &p.Pod); (err == nil) != (want <= p.MaxSlice/64) || err == nil && s.Cubes() != want {
				t.Errorf("%s: slice %s of %d cubes: %v", p.Name, text, s.Cubes(), err)
			}
		}
	}
	host := torus.Box{1, 1, 1}
	for _, p := range []torus.Pod{
		{Cubes: 257, Cube: torus.TPUCube, Host: host, MaxSlice: 64},
		{Cubes: 8, Cube: torus.Box{8, 8, 2}, Host: host, MaxSlice: 128},
		{Cubes: 8, Cube: torus.TPUCube, Host: torus.Box{3, 1, 1}, MaxSlice: 64},
	} {
		if CheckPod(&p) == nil {
			t.Errorf("%+v is a pod of a fleet", p)
		}
	}
}
