package packet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"sim/engine"
)

// pathTable leads packets by paths, where a record's route is the place of its step, or, where packets draw their links,
// its destination.
type pathTable struct {
	spread    *engine.Spread // of the set in use
	usesSteps bool           // routes are places of steps
	// Ports and steps of every Rewire one after another, so that a packet keeps its path; the ports of a rewire are
	// those behind the ports of the one before it.
	degree     int
	linkByPort []int32 // by node and port: a link
	steps      []engine.Step
	sets       []pathSet
	current    int // the set in use
	rng        *rand.Rand
}

// pathSet is the paths of one Rewire.
type pathSet struct {
	*engine.Paths
	firstStep        int32     // the place of its first step
	cumulativeShares []float64 // by path: the sum of shares up to it, in its class; nil where all are equal or alone
}

func newPathTable(n *engine.Network, w *Work, o *Options) (pathTable, error) {
	y := pathTable{rng: newStream(o.Seed, pathStream)}
	allPaths := []*engine.Paths{w.Paths}
	for _, r := range o.Rewire {
		allPaths = append(allPaths, r.Paths)
	}
	numSteps := 0
	if y.spread = w.Paths.Spread; y.spread != nil {
		for _, k := range allPaths {
			y.sets = append(y.sets, pathSet{Paths: k})
		}
		return y, nil
	}
	y.usesSteps = true
	for _, k := range allPaths {
		y.degree += k.Degree
		numSteps += len(k.Step)
	}
	if numSteps > math.MaxInt32 || y.degree > engine.MaxPort+1 {
		return y, fmt.Errorf("%w: paths of %d steps over %d ports a node in all; want at most %d and %d", ErrWork, numSteps, y.degree, math.MaxInt32, engine.MaxPort+1)
	}
	if len(allPaths) == 1 {
		y.linkByPort, y.steps = w.Paths.Link, w.Paths.Step
	} else {
		y.linkByPort = make([]int32, int(n.Nodes)*y.degree)
		y.steps = make([]engine.Step, 0, numSteps)
	}
	firstPort, firstStep := 0, 0
	for _, k := range allPaths {
		set := pathSet{Paths: k, firstStep: int32(firstStep)}
		firstStep += len(k.Step)
		if len(allPaths) > 1 {
			for node := range int(n.Nodes) {
				copy(y.linkByPort[node*y.degree+firstPort:], k.Link[node*k.Degree:(node+1)*k.Degree])
			}
			for _, s := range k.Step {
				if s != engine.Arrived {
					s = engine.MakeStep(s.Port()+firstPort, s.Channel())
				}
				y.steps = append(y.steps, s)
			}
			firstPort += k.Degree
		}
		var err error
		if set.cumulativeShares, err = sumShares(k); err != nil {
			return y, err
		}
		y.sets = append(y.sets, set)
	}
	return y, nil
}

// sumShares returns the running sums of the shares of each class.
func sumShares(paths *engine.Paths) ([]float64, error) {
	if paths.Share == nil || paths.First == nil {
		return nil, nil
	}
	cumulative := make([]float64, len(paths.Share))
	for c := range len(paths.First) - 1 {
		sum := 0.0
		for i := paths.First[c]; i < paths.First[c+1]; i++ {
			if s := paths.Share[i]; s < 0 || math.IsNaN(s) || math.IsInf(s, 0) {
				return nil, fmt.Errorf("%w: path %d has a share of %g; want a number of at least 0", ErrWork, i, s)
			}
			sum += paths.Share[i]
			cumulative[i] = sum
		}
		if paths.First[c] < paths.First[c+1] && sum == 0 {
			return nil, fmt.Errorf("%w: the shares of the paths of class %d are all 0", ErrWork, c)
		}
	}
	return cumulative, nil
}

// isSingle reports whether each flow has one path.
func (y *pathTable) isSingle() bool { return y.usesSteps && len(y.sets) == 1 && y.sets[0].First == nil }

// choosePath chooses a path for a packet of a flow and returns the place of its first step.
func (y *pathTable) choosePath(flow int32) int32 {
	set := &y.sets[y.current]
	first, end := set.Of(set.ClassOf(flow))
	path := first
	switch {
	case end-first == 1:
	case set.cumulativeShares == nil:
		path += y.rng.Int32N(end - first)
	default:
		draw := y.rng.Float64() * set.cumulativeShares[end-1]
		for path < end-1 && draw >= set.cumulativeShares[path] {
			path++
		}
	}
	return set.firstStep + int32(set.Start[path])
}

// arrived is what next returns at the end of a route, nowhere where there is none.
const (
	pathEnd = -1
	noLink  = -2
)

// nextLink returns the link that a packet of a route takes from a node.
func (y *pathTable) nextLink(node, route int32) int32 {
	if y.usesSteps {
		s := y.steps[route]
		if s == engine.Arrived {
			return pathEnd
		}
		return y.linkByPort[int(node)*y.degree+s.Port()]
	}
	if node == route {
		return pathEnd
	}
	if l := y.spread.Next(node, route, y.rng.Float64()); l >= 0 {
		return l
	}
	return noLink
}

// linkAfter returns the link that a packet takes from a node when it has taken the step at route, or none, and its channel.
func (y *pathTable) linkAfter(node, route int32) (link int32, channel uint8) {
	if !y.usesSteps {
		return y.nextLink(node, route), 0
	}
	s := y.steps[route+1]
	if s == engine.Arrived {
		return pathEnd, 0
	}
	return y.linkByPort[int(node)*y.degree+s.Port()], uint8(s.Channel())
}

// useNextSet goes over to the paths of the next Rewire.
func (y *pathTable) useNextSet() {
	y.current++
	y.spread = y.sets[y.current].Spread
}

// firstLink returns the first link of a flow, of its first path where it has several; -1 where it has none.
func (y *pathTable) firstLink(flow int32, f engine.Flow) int32 {
	if y.spread != nil {
		return y.spread.Next(f.Src, f.Dst, 0)
	}
	set := &y.sets[y.current]
	k, _ := set.Of(set.ClassOf(flow))
	return y.nextLink(f.Src, set.firstStep+int32(set.Start[k]))
}

// Names of random streams.
const (
	pathStream = iota
	errorStream
)

// newStream returns a random stream of the run.
func newStream(seed uint64, name uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, mix(name)))
}

// checkPaths fails where paths do not lead flows over n.
func checkPaths(n *engine.Network, flows []engine.Flow, paths *engine.Paths) error {
	if paths == nil {
		return errors.New("want paths to lead packets")
	}
	return paths.Check(context.Background(), n, flows)
}
