// Package slowdown computes the maximum link load of a slice with optimised paths,
// with all optical switches up or one failed. The ratio of the two is the slowdown
// of the parts of a job's step that wait for traffic.
//
// Loads are computed on first use and cached. The loads of the paper's slices of
// up to 512 chips are embedded. Package fleets combines them with the traffic of a
// job. Start reading with LoadsOf.
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

// NoFailure is the value of Slice.FailedDim if all switches are up.
const NoFailure = -1

// Loads are the maximum link loads of a slice, in messages.
type Loads struct {
	AllToAll   float64 // one message from each chip to every other, on paths chosen for this traffic
	Bound      float64 // lower bound on AllToAll for any single paths
	Neighbours float64 // one message from each chip to each neighbour, on the same paths
}

// Slice is a slice of whole cubes with at most one failed switch. Which of the
// switches of a dimension failed does not matter, because translations of the
// torus map them to each other.
type Slice struct {
	Shape     fleet.Shape
	FailedDim int // dimension of the failed switch in Shape.Torus, or NoFailure
}

// canonical returns a slice with the same loads. If several dimensions have the
// length of FailedDim, it uses the first of them.
func (s Slice) canonical() Slice {
	sides, _ := s.Shape.Sides()
	cube := s.Shape.Cube()
	if !s.Shape.Twisted {
		for d := range max(0, s.FailedDim) {
			if sides[d] == sides[s.FailedDim] && cube[d] == cube[s.FailedDim] {
				s.FailedDim = d
				break
			}
		}
	}
	return s
}

//go:embed loads.csv
var storedCSV []byte

// storedLoads returns the embedded loads. computedLoads caches the loads that were
// computed.
var (
	storedLoads   = sync.OnceValue(func() map[Slice]Loads { return parseLoads(storedCSV) })
	computedLoads once.Map[Slice, Loads]
)

// LoadsOf returns the loads of a slice. It fails if ctx is cancelled or the shape
// is not a valid torus.
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

// closedForm returns the loads of a regular slice with all switches up. Half of
// the messages of each line cross its middle in one direction, which gives N L / 8
// messages per link for N chips and lines of length L. Dimension-order routing
// attains this load (Dally and Towles, "Principles and Practices of
// Interconnection Networks", 2004, Sec. 3.3).
func closedForm(s Slice) (Loads, bool) {
	load := float64(s.Shape.Chips()*s.Shape.Dims[2]) / 8
	loads := Loads{AllToAll: load, Bound: load, Neighbours: 1}
	return loads, s.FailedDim == NoFailure && !s.Shape.Twisted
}

// maxOptimisedChips is the largest slice for which paths are searched. For larger
// slices a search takes minutes, so lower bounds replace the loads. In smaller
// slices, the search comes within 1 % of these bounds.
const maxOptimisedChips = 512

// computeLoads searches for paths in small slices, and returns bounds for large
// ones.
func computeLoads(ctx context.Context, s Slice) (Loads, error) {
	t, err := s.Shape.Torus()
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
			near = 2 // the neighbours at a failed link use a detour
		}
		const rounding = 1e-9                   // absorbs rounding errors of load
		wholeLoad := math.Ceil(load - rounding) // a link carries whole messages
		return Loads{AllToAll: wholeLoad, Bound: load, Neighbours: near}, nil
	}

	return optimise(ctx, s, t, h)
}

// sliceFaults returns the faults of a slice.
func sliceFaults(s Slice) torus.Faults {
	if s.FailedDim == NoFailure {
		return torus.Faults{}
	}
	return torus.Faults{Switches: []torus.Switch{{Dim: s.FailedDim}}}
}

// cutBound returns a lower bound on the maximum link load of a regular slice. It
// is 0 for twisted slices.
//
// Two planes divide each line of a dimension into two parts. Half of the messages
// between the parts go in each direction over the links at the planes. One failed
// switch of 16 in a dimension removes a sixteenth of the links at a plane between cubes.
func cutBound(s Slice) float64 {
	bound := 0.0
	if s.Shape.Twisted {
		return bound
	}
	cube := s.Shape.Cube()
	sides, _ := s.Shape.Sides()
	for d, side := range sides {
		for first := range cube[d] {
			for part := 1; part < side; part++ {
				links := 2.0
				for _, plane := range []int{first, first + part} {
					if d == s.FailedDim && plane%cube[d] == 0 {
						links -= 1 / float64(cube.Face(d))
					}
				}
				messages := float64(s.Shape.Chips() * part * (side - part)) // of all lines
				bound = max(bound, messages/(float64(side)*links))
			}
		}
	}

	return bound
}

// hopBound returns a lower bound on the maximum link load: the mean load of the
// working links if all messages take shortest paths. Translations by a cube map
// the faults to themselves, so the sources of one cube stand for all.
func hopBound(t *torus.Torus, h *torus.Health) float64 {
	neighbours := make([][]int32, t.Nodes())
	up := 0
	for i, l := range t.Links() {
		if h.Link[i] == torus.Works {
			neighbours[l.From] = append(neighbours[l.From], l.To)
			up++
		}
	}

	sum, distance := 0, make([]int, t.Nodes())
	for n := range int32(t.Nodes()) {
		if t.Coord(n, 0) >= t.Cube[0] || t.Coord(n, 1) >= t.Cube[1] || t.Coord(n, 2) >= t.Cube[2] {
			continue
		}
		for i := range distance {
			distance[i] = -1
		}
		distance[n] = 0

		for queue := []int32{n}; len(queue) > 0; queue = queue[1:] {
			for _, to := range neighbours[queue[0]] {
				if distance[to] < 0 {
					distance[to] = distance[queue[0]] + 1
					sum += distance[to]
					queue = append(queue, to)
				}
			}
		}
	}

	return float64(sum) * float64(t.Nodes()) / float64(t.Cube.Chips()) / float64(up)
}

// optimise searches for paths with small maximum load for all-to-all traffic.
func optimise(ctx context.Context, s Slice, t *torus.Torus, h *torus.Health) (Loads, error) {
	// The rate does not affect loads. Paths around rings need two virtual channels to be
	// free of deadlocks.
	link := engine.Link{Rate: 400e9, Channels: 2}
	p := &routing.Problem{Network: t.Network(h, link), Torus: t}
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
	return Loads{
		AllToAll:   d.Metrics["max_link_load"],
		Bound:      d.Bound,
		Neighbours: d.Metrics["nearest_neighbour_max_load"],
	}, nil
}

// parseLoads parses the embedded CSV file: slice, FailedDim, and the three loads.
// It skips invalid rows; a test checks that all rows are valid.
func parseLoads(data []byte) map[Slice]Loads {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	loads := map[Slice]Loads{}
	for i, r := range rows {
		if i == 0 { // column names
			continue
		}
		shape, shapeErr := fleet.ParseShape(r[0], torus.TPUv4Pod())
		down, downErr := strconv.Atoi(r[1])
		var x [3]float64
		for k := range x {
			if x[k], err = strconv.ParseFloat(r[2+k], 64); err != nil {
				break
			}
		}
		if shapeErr == nil && downErr == nil && err == nil {
			loads[Slice{shape, down}] = Loads{AllToAll: x[0], Bound: x[1], Neighbours: x[2]}
		}
	}

	return loads
}
