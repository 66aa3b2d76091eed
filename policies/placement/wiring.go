package placement

import (
	"fmt"
	"sync"

	"sim/fabric/torus"
	"sim/internal/numbers"
	"sim/workloads/fleet"
)

// Wiring knows which places of a slice are linked, by shape. The zero value is ready, and safe for concurrent use.
type Wiring struct{ cache sync.Map }

// Neighbours returns by dimension the place in a slice of whole cubes that each place's links lead to, upwards.
func (w *Wiring) Neighbours(s fleet.Shape) ([3][]int8, error) {
	if next, ok := w.cache.Load(s); ok {
		return next.([3][]int8), nil
	}
	var next [3][]int8
	t, err := torus.New(s.Dims[:]...)
	if err == nil && s.Twisted {
		err = t.Twist(torus.TPUv4)
	}
	cubes := numbers.Below(s.Cubes())
	var all []torus.Connection
	if err == nil {
		all, err = torus.Adjacent(t, cubes)
	}
	if err != nil {
		return next, fmt.Errorf("placement: slice %s: %w", s, err)
	}
	for d := range next {
		next[d] = make([]int8, len(cubes))
	}
	for _, c := range all { // the 16 switches of a dimension connect the same cubes
		next[c.Dim][c.Out] = int8(c.In)
	}
	w.cache.Store(s, next)
	return next, nil
}

// Connect joins the cubes of a slice by the switches of a pod and returns how many connections were made. A port serves
// one: what is in the way, which no job uses, is undone.
func (w *Wiring) Connect(p *Pod, s fleet.Shape, cubes []int8) (changes int, err error) {
	wiring, err := w.Neighbours(s)
	if err != nil {
		return 0, err
	}
	for d, next := range wiring {
		for i, place := range next {
			from, to := cubes[i], cubes[place]
			if p.Next[d][from] == to {
				continue
			}
			if previousSource := p.Prev[d][to]; previousSource >= 0 {
				p.Next[d][previousSource] = -1
			}
			if previousTarget := p.Next[d][from]; previousTarget >= 0 {
				p.Prev[d][previousTarget] = -1
			}
			p.Next[d][from], p.Prev[d][to] = to, from
			changes += fleet.PodSwitches / 3
		}
	}
	return changes, nil
}
