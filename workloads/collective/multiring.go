package collective

import (
	"fmt"
	"slices"

	"sim/fabric/torus"
)

// OneRing returns the streams of a collective on rings that work side by side, a stage of them. Both ways is a stream
// each way round, with half of the data each.
func OneRing(rings Stage, bothWays bool) []Stream {
	streams := []Stream{{rings}}
	if bothWays {
		streams = append(streams, Stream{backwards(rings)})
	}
	return streams
}

// HamiltonianRing returns the one ring through all nodes of a torus that are up; one that is down is passed over, with
// a hop of more than one link.
func HamiltonianRing(o *torus.Torus, down []bool) (Stage, error) {
	ring, err := o.Hamiltonian()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTraffic, err)
	}
	if down != nil && len(down) != o.Nodes() {
		return nil, fmt.Errorf("%w: a ring of %d nodes, with the state of %d", ErrTraffic, o.Nodes(), len(down))
	}
	ring = slices.DeleteFunc(ring, func(n int32) bool { return down != nil && down[n] })
	if len(ring) < 2 {
		return nil, fmt.Errorf("%w: a ring needs at least 2 nodes that are up, of %s there are %d", ErrTraffic, o, len(ring))
	}
	return Stage{ring}, nil
}

// MultiRing returns the streams of a collective along several dimensions of a torus, whose rings are of the form given:
// a stream for each dimension, which starts with it and takes the others in turn, so that at any time each works on
// another dimension (Sack and Gropp, 2015); in both directions, twice as many, with the other half of the data
// downwards. Dimensions of size 1 are passed over. Along a dimension with links twisted into another of them, the form
// must not be Links: its rings then join ranks with different parts of the data, which Collective.Check refuses.
func MultiRing(o *torus.Torus, dims []int, form Form, bothWays bool) ([]Stream, error) {
	if err := distinct(o, dims); err != nil {
		return nil, err
	}
	var stages []Stage
	for _, d := range dims {
		if o.Dims[d] == 1 {
			continue
		}
		stage, err := RingsAlong(o, []int{d}, form, nil)
		if err != nil {
			return nil, err
		}
		stages = append(stages, stage)
	}
	if len(stages) == 0 {
		return nil, fmt.Errorf("%w: no ring of at least 2 nodes along %s of %s", ErrTraffic, dimNames(dims), o)
	}
	var streams []Stream
	for k := range stages {
		stream := append(slices.Clone(stages[k:]), stages[:k]...)
		streams = append(streams, stream)
	}
	if bothWays {
		for _, up := range slices.Clone(streams) {
			stream := make(Stream, len(up))
			for s, stage := range up {
				stream[s] = backwards(stage)
			}
			streams = append(streams, stream)
		}
	}
	return streams, nil
}

// backwards returns rings in the opposite direction.
func backwards(stage Stage) Stage {
	back := make(Stage, len(stage))
	for i, ring := range stage {
		back[i] = slices.Clone(ring)
		slices.Reverse(back[i][1:])
	}
	return back
}
