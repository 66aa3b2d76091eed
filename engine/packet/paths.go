package packet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"sim/engine"
	"sim/internal/random"
)

// pathTable looks up the links of packets. The route of a packet (record.route) is the
// index of its current step in steps. With Paths.Spread it is the destination node, and
// each packet draws its links.
type pathTable struct {
	spread    *engine.NextHops // of the current set; nil if routes are steps
	usesSteps bool             // routes are indices in steps
	// The ports and steps of all sets are concatenated, so that packets keep their paths
	// after a Rewire. At each node, the ports of a set follow the ports of the previous
	// set.
	degree     int           // ports per node, over all sets
	linkByPort []int32       // indexed by node*degree + port; -1 if there is no link
	steps      []engine.Step // paths, each terminated by engine.Arrived
	sets       []pathSet     // the initial paths, followed by one set per Rewire
	current    int           // index of the set in use
	rng        *rand.Rand    // draws paths and links
}

// pathSet is the initial paths or the paths of one Rewire. engine.Paths groups flows into
// classes. Class c has the paths First[c] to First[c+1]-1, or only path c if First is nil.
type pathSet struct {
	*engine.Paths
	firstStep        int32     // index in pathTable.steps of its first step
	cumulativeShares []float64 // indexed by path: sum of shares up to the path within its class; nil if shares are equal
}

// newPathTable creates the table of the paths of w and of all Rewires.
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
		return y, fmt.Errorf("%w: all paths have %d steps and %d ports per node; want at most %d and %d", ErrWork, numSteps, y.degree, math.MaxInt32, engine.MaxPort+1)
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

// sumShares returns the cumulative shares of the paths within each class, or nil if paths
// have equal shares.
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

// isSingle reports whether each flow has one path for the whole run.
func (y *pathTable) isSingle() bool { return y.usesSteps && len(y.sets) == 1 && y.sets[0].First == nil }

// choosePath chooses a path for a packet of a flow and returns the index of its first
// step.
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

// Results of nextLink that are not links.
const (
	pathEnd = -1 // the node is the destination
	noLink  = -2 // the destination cannot be reached; also used for a link that has not been looked up
)

// nextLink returns the link that a packet with the given route takes from a node, or
// pathEnd or noLink.
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

// linkAfter returns the link that a packet takes from a node after the step at route, and
// its channel. With Paths.Spread it is the same as nextLink, on channel 0.
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

// useNextSet switches to the paths of the next Rewire.
func (y *pathTable) useNextSet() {
	y.current++
	y.spread = y.sets[y.current].Spread
}

// firstLink returns the first link of a flow, on the first one of its paths. It is
// negative if the flow has no path.
func (y *pathTable) firstLink(flow int32, f engine.Flow) int32 {
	if y.spread != nil {
		const draw = 0 // selects the first one of the possible links
		return y.spread.Next(f.Src, f.Dst, draw)
	}
	set := &y.sets[y.current]
	k, _ := set.Of(set.ClassOf(flow))
	return y.nextLink(f.Src, set.firstStep+int32(set.Start[k]))
}

// Streams of random numbers of a run.
const (
	pathStream = iota
	errorStream
	transportStream
)

// newStream returns one of the random streams of a run.
func newStream(seed uint64, name uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, random.Mix(name)))
}

// checkPaths returns an error if paths do not connect the flows over links of n that are
// up.
func checkPaths(n *engine.Network, flows []engine.Flow, paths *engine.Paths) error {
	if paths == nil {
		return errors.New("there are no paths")
	}
	return paths.Check(context.Background(), n, flows)
}
