package packet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"sim/engine"
)

// paths leads packets by paths, where a record's route is the place of its step, or, where packets draw their links,
// its destination.
type paths struct {
	spread *engine.NextHops // of the set in use
	steps  bool             // routes are places of steps
	// Ports and steps of every Rewire one after another, so that a packet keeps its path; the ports of a rewire are
	// those behind the ports of the one before it.
	degree int
	port   []int32 // by node and port: a link
	step   []engine.Step
	sets   []pathSet
	now    int // the set in use
	rng    *rand.Rand
}

// pathSet is the paths of one Rewire.
type pathSet struct {
	*engine.Paths
	from int32     // the place of its first step
	upTo []float64 // by path: the sum of shares up to it, in its class; nil where all are equal or alone
}

func newPaths(n *engine.Network, w *Work, o *Options) (paths, error) {
	y := paths{rng: stream(o.Seed, pathStream)}
	all := []*engine.Paths{w.Paths}
	for _, r := range o.Rewire {
		all = append(all, r.Paths)
	}
	steps := 0
	if y.spread = w.Paths.Spread; y.spread != nil {
		for _, k := range all {
			y.sets = append(y.sets, pathSet{Paths: k})
		}
		return y, nil
	}
	y.steps = true
	for _, k := range all {
		y.degree += k.Degree
		steps += len(k.Step)
	}
	if steps > math.MaxInt32 || y.degree > engine.MaxPort+1 {
		return y, fmt.Errorf("%w: paths of %d steps over %d ports a node in all; want at most %d and %d", ErrWork, steps, y.degree, math.MaxInt32, engine.MaxPort+1)
	}
	if len(all) == 1 {
		y.port, y.step = w.Paths.Link, w.Paths.Step
	} else {
		y.port = make([]int32, int(n.Nodes)*y.degree)
		y.step = make([]engine.Step, 0, steps)
	}
	ports, from := 0, 0
	for _, k := range all {
		set := pathSet{Paths: k, from: int32(from)}
		from += len(k.Step)
		if len(all) > 1 {
			for node := range int(n.Nodes) {
				copy(y.port[node*y.degree+ports:], k.Link[node*k.Degree:(node+1)*k.Degree])
			}
			for _, s := range k.Step {
				if s != engine.Arrived {
					s = engine.MakeStep(s.Port()+ports, s.Channel())
				}
				y.step = append(y.step, s)
			}
			ports += k.Degree
		}
		var err error
		if set.upTo, err = sums(k); err != nil {
			return y, err
		}
		y.sets = append(y.sets, set)
	}
	return y, nil
}

// sums returns the running sums of the shares of each class.
func sums(k *engine.Paths) ([]float64, error) {
	if k.Share == nil || k.First == nil {
		return nil, nil
	}
	upTo := make([]float64, len(k.Share))
	for c := range len(k.First) - 1 {
		sum := 0.0
		for i := k.First[c]; i < k.First[c+1]; i++ {
			if s := k.Share[i]; s < 0 || math.IsNaN(s) || math.IsInf(s, 0) {
				return nil, fmt.Errorf("%w: path %d has a share of %g; want a number of at least 0", ErrWork, i, s)
			}
			sum += k.Share[i]
			upTo[i] = sum
		}
		if k.First[c] < k.First[c+1] && sum == 0 {
			return nil, fmt.Errorf("%w: the shares of the paths of class %d are all 0", ErrWork, c)
		}
	}
	return upTo, nil
}

// single reports whether each flow has one path.
func (y *paths) single() bool { return y.steps && len(y.sets) == 1 && y.sets[0].First == nil }

// path chooses a path for a packet of a flow and returns the place of its first step.
func (y *paths) path(flow int32) int32 {
	set := &y.sets[y.now]
	first, end := set.Of(set.ClassOf(flow))
	k := first
	switch {
	case end-first == 1:
	case set.upTo == nil:
		k += y.rng.Int32N(end - first)
	default:
		at := y.rng.Float64() * set.upTo[end-1]
		for k < end-1 && at >= set.upTo[k] {
			k++
		}
	}
	return set.from + int32(set.Start[k])
}

// arrived is what next returns at the end of a route, nowhere where there is none.
const (
	arrived = -1
	nowhere = -2
)

// next returns the link that a packet of a route takes from a node.
func (y *paths) next(at, route int32) int32 {
	if y.steps {
		s := y.step[route]
		if s == engine.Arrived {
			return arrived
		}
		return y.port[int(at)*y.degree+s.Port()]
	}
	if at == route {
		return arrived
	}
	if l := y.spread.Next(at, route, y.rng.Float64()); l >= 0 {
		return l
	}
	return nowhere
}

// after returns the link that a packet takes from a node when it has taken the step at route, or none, and its channel.
func (y *paths) after(at, route int32) (link int32, channel uint8) {
	if !y.steps {
		return y.next(at, route), 0
	}
	s := y.step[route+1]
	if s == engine.Arrived {
		return arrived, 0
	}
	return y.port[int(at)*y.degree+s.Port()], uint8(s.Channel())
}

// turn goes over to the paths of the next Rewire.
func (y *paths) turn() {
	y.now++
	y.spread = y.sets[y.now].Spread
}

// firstLink returns the first link of a flow, of its first path where it has several; -1 where it has none.
func (y *paths) firstLink(flow int32, f engine.Flow) int32 {
	if y.spread != nil {
		return y.spread.Next(f.Src, f.Dst, 0)
	}
	set := &y.sets[y.now]
	k, _ := set.Of(set.ClassOf(flow))
	return y.next(f.Src, set.from+int32(set.Start[k]))
}

// Names of random streams.
const (
	pathStream = iota
	errorStream
)

// stream returns a random stream of the run.
func stream(seed uint64, name uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, mix(name)))
}

// checkPaths fails where paths do not lead flows over n.
func checkPaths(n *engine.Network, flows []engine.Flow, paths *engine.Paths) error {
	if paths == nil {
		return errors.New("want paths to lead packets")
	}
	return paths.Check(context.Background(), n, flows)
}
