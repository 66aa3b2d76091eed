// Package slowdown computes the maximum link load of a slice with optimised paths, with all optical switches up or one
// failed. The ratio is the slowdown of a job's step. Loads are computed on first use and cached. The loads of the paper's
// slices of up to 512 chips are embedded. Package fleets combines them with the traffic of a job.
package slowdown

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"sync"

	"sim/engine"
	"sim/fabric/torus"
	"sim/internal/once"
	"sim/policies/routing"
	"sim/workloads/fleet"
)

// NoFailure is the dimension of no switch.
const NoFailure = -1

// Loads are what the most loaded link of a slice carries, in messages.
type Loads struct {
	AllToAll   float64 // when each chip sends one to every other, on routes chosen for that
	Bound      float64 // no routes, one a pair, have less
	Neighbours float64 // when each sends one to each neighbour, on the same routes
}

// Slice is a slice of whole cubes of whose switches one of a dimension is down, or None. Which of the 16 does not
// matter: translations take each into the others.
type Slice struct {
	Shape     fleet.Shape
	FailedDim int
}

// canonical returns the slice of the same loads whose dimension is the first of its length.
func (s Slice) canonical() Slice {
	if !s.Shape.Twisted {
		for d := range max(0, s.FailedDim) {
			if s.Shape.Dims[d] == s.Shape.Dims[s.FailedDim] {
				s.FailedDim = d
				break
			}
		}
	}
	return s
}

//go:embed loads.csv
var storedCSV []byte

// known are the loads that are stored, found those that were asked for.
var (
	storedLoads   = sync.OnceValue(func() map[Slice]Loads { return parseLoads(storedCSV) })
	computedLoads once.Map[Slice, Loads]
)

// LoadsOf returns the loads of a slice. It fails where ctx ends or no slice is such a torus.
func LoadsOf(ctx context.Context, s Slice) (Loads, error) {
	s = s.canonical()
	if l, ok := closedForm(s); ok {
		return l, nil
	}
	if l, ok := storedLoads()[s]; ok {
		return l, nil
	}
	return computedLoads.Get(ctx, s, func() (Loads, error) { return computeLoads(ctx, s) })
}

// closedForm returns the loads of a regular slice with all switches up: half of each line's messages cross its middle, both
// ways, N L / 8 on a link, which dimension order attains (Dally and Towles, "Principles and Practices of Interconnection
// Networks", 2004, Sec. 3.3).
func closedForm(s Slice) (Loads, bool) {
	load := float64(s.Shape.Chips()*s.Shape.Dims[2]) / 8
	return Loads{load, load, 1}, s.FailedDim == NoFailure && !s.Shape.Twisted
}

// maxOptimisedChips is above how many chips a slice has the loads that no routes can go below, for a search takes minutes. Those
// that are found are within 1 % of them.
const maxOptimisedChips = 512

// computeLoads has the optimiser choose routes, or bounds what these can be.
func computeLoads(ctx context.Context, s Slice) (Loads, error) {
	t, err := torus.New(s.Shape.Dims[:]...)
	if err == nil && s.Shape.Twisted {
		err = t.Twist(torus.TPUv4)
	}
	if err != nil {
		return Loads{}, fmt.Errorf("slowdown: slice %s: %w", s.Shape, err)
	}
	h, err := t.Health(sliceFaults(s))
	if err != nil {
		return Loads{}, fmt.Errorf("slowdown: slice %s: %w", s.Shape, err)
	}
	if t.Nodes() > maxOptimisedChips {
		load := max(cutBound(s), hopBound(t, h))
		near := 1.0
		if s.FailedDim != NoFailure {
			near = 2 // a link's neighbours send round it
		}
		return Loads{math.Ceil(load - 1e-9), load, near}, nil
	}

	return optimise(ctx, s, t, h)
}

// sliceFaults returns what is down.
func sliceFaults(s Slice) torus.Faults {
	if s.FailedDim == NoFailure {
		return torus.Faults{}
	}
	return torus.Faults{Switches: []torus.Switch{{Dim: s.FailedDim}}}
}

// cutBound returns what the links must carry that cross two planes of a regular slice, which part each of its lines: with one
// of 16 switches down a sixteenth less of them where both, or one, are between cubes. Half of the messages cross that go
// one way. Of twisted slices it is 0.
func cutBound(s Slice) float64 {
	bound := 0.0
	if s.Shape.Twisted {
		return bound
	}
	for d, side := range s.Shape.Dims {
		for from := range fleet.Side {
			for part := 1; part < side; part++ {
				links := 2.0
				for _, plane := range []int{from, from + part} {
					if d == s.FailedDim && plane%fleet.Side == 0 {
						links -= 1. / torus.Faces
					}
				}
				bound = max(bound, float64(s.Shape.Chips()*part*(side-part))/(float64(side)*links))
			}
		}
	}

	return bound
}

// hopBound returns the mean load of the links of a torus if all messages take shortest paths. Translations by a cube leave
// it as it is.
func hopBound(t *torus.Torus, h *torus.Health) float64 {
	next := make([][]int32, t.Nodes())
	live := 0
	for i, l := range t.Links() {
		if h.Link[i] == torus.Works {
			next[l.From] = append(next[l.From], l.To)
			live++
		}
	}

	sum, distance := 0, make([]int, t.Nodes())
	for n := range int32(t.Nodes()) {
		if t.Coord(n, 0) >= fleet.Side || t.Coord(n, 1) >= fleet.Side ||
			t.Coord(n, 2) >= fleet.Side {
			continue
		}
		for i := range distance {
			distance[i] = -1
		}
		distance[n] = 0
		for queue := []int32{n}; len(queue) > 0; queue = queue[1:] {
			for _, to := range next[queue[0]] {
				if distance[to] < 0 {
					distance[to] = distance[queue[0]] + 1
					sum += distance[to]
					queue = append(queue, to)
				}
			}
		}
	}

	return float64(sum) * float64(t.Nodes()) / fleet.CubeChips / float64(live)
}

// optimise finds routes.
func optimise(ctx context.Context, s Slice, t *torus.Torus, h *torus.Health) (Loads, error) {
	p := &routing.Problem{Network: t.Network(h, engine.Link{Rate: 400e9, Channels: 2}),
		Torus: t}
	for a := range int32(t.Nodes()) {
		for b := range int32(t.Nodes()) {
			if a != b {
				p.Flows = append(p.Flows, engine.Flow{Src: a, Dst: b})
			}
		}
	}
	d, err := routing.OptimisedRouter{}.Route(ctx, p, routing.Options{Seed: 1})
	if err != nil {
		return Loads{}, fmt.Errorf("slowdown: slice %s: %w", s.Shape, err)
	}
	return Loads{d.Metrics["max_link_load"], d.Bound,
		d.Metrics["nearest_neighbour_max_load"]}, nil
}

// parseLoads reads rows of slice, dimension of the switch that is down or -1, and loads.
func parseLoads(data []byte) map[Slice]Loads {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	of := map[Slice]Loads{}
	for i, r := range rows {
		if i == 0 {
			continue // names
		}
		shape, bad := fleet.ParseShape(r[0])
		down, bad2 := strconv.Atoi(r[1])
		var x [3]float64
		for k := range x {
			if x[k], err = strconv.ParseFloat(r[2+k], 64); err != nil {
				break
			}
		}
		if bad == nil && bad2 == nil && err == nil { // a test holds that every row is read
			of[Slice{shape, down}] = Loads{x[0], x[1], x[2]}
		}
	}

	return of
}
