package placement

import (
	"fmt"
	"sync"

	"sim/fabric/torus"
	"sim/internal/numbers"
	"sim/workloads/fleet"
)

// Wiring computes and caches the connections within slices, by shape. The zero value is ready to
// use, and safe for concurrent use.
type Wiring struct{ cache sync.Map }

// Neighbours returns for each dimension the position in a slice to which the upward links of each
// position lead. The slice consists of complete cubes.
func (w *Wiring) Neighbours(s fleet.Shape) ([3][]int16, error) {
	if next, ok := w.cache.Load(s); ok {
		return next.([3][]int16), nil
	}

	// A slice is a torus. Number its cubes by their positions.
	var next [3][]int16
	t, err := s.Torus()
	cubes := numbers.Below(s.Cubes())
	var all []torus.Connection
	if err == nil {
		all, err = torus.CubeConnections(t, cubes)
	}
	if err != nil {
		return next, fmt.Errorf("placement: slice %s: %w", s, err)
	}

	for d := range next {
		next[d] = make([]int16, len(cubes))
	}

	// The switches of a dimension make equal connections.
	for _, c := range all {
		next[c.Dim][c.Out] = int16(c.In)
	}
	w.cache.Store(s, next)
	return next, nil
}

// Connect joins the cubes of a slice by the switches of a pod and returns the number of changed
// connections. A port has one connection. Conflicting connections, which no job uses, are
// removed.
func (w *Wiring) Connect(p *Pod, s fleet.Shape, cubes []int16) (changes int, err error) {
	wiring, err := w.Neighbours(s)
	if err != nil {
		return 0, err
	}

	// Each connection of a dimension is made by all switches of that dimension.
	for d, next := range wiring {
		for i, place := range next {
			from, to := cubes[i], cubes[place]
			if p.Next[d][from] == to {
				continue
			}

			// Both ports may have other connections.
			if previousSource := p.Prev[d][to]; previousSource >= 0 {
				p.Next[d][previousSource] = -1
			}
			if previousTarget := p.Next[d][from]; previousTarget >= 0 {
				p.Prev[d][previousTarget] = -1
			}
			p.Next[d][from], p.Prev[d][to] = to, from
			changes += s.Cube().Face(d)
		}
	}

	return changes, nil
}
