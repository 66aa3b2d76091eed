package routing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
)

// pathAssigner assigns paths to the flows of a torus or mesh. Flows that are translations of each
// other take the same ports.
type pathAssigner struct {
	geometry *geometry // of the torus
	problem  *Problem  // flows to route
	// symmetry gives the classes of flows for which choose is called once. If it is nil, choose is
	// called for each flow.
	symmetry *Symmetry
	// choose returns the ports of a flow's path, or of several paths separated by engine.Arrived.
	// It returns nil if there is no path; reason then says why. If symmetry is set, results are
	// retained and must not be reused.
	choose func(f engine.Flow) []engine.Step
	reason string // why a flow has no path, for errors
	// usesSegments reports whether virtual channels follow the segment rule (see
	// geometry.setChannels).
	usesSegments bool
}

// visitFlows calls do with each flow and the ports chosen for it, until do returns false.
func (l *pathAssigner) visitFlows(do func(i int, f engine.Flow, ports []engine.Step) bool) {
	// portsByClass holds the choice for each class, computed at its first flow. It is nil if every
	// class is one flow.
	var portsByClass [][]engine.Step
	if l.symmetry != nil && len(l.symmetry.Sources) < l.geometry.Nodes() {
		portsByClass = make([][]engine.Step, l.symmetry.Classes())
	}
	for i, f := range l.problem.Flows {
		var ports []engine.Step
		if portsByClass == nil {
			ports = l.choose(f)
		} else {
			class := l.symmetry.Class(f)
			if portsByClass[class] == nil {
				portsByClass[class] = l.choose(l.symmetry.Flow(class))
			}
			ports = portsByClass[class]
		}

		if !do(i, f, ports) {
			return
		}
	}
}

// checkServes returns the error of assignPaths for the first flow without a path, and nil if
// there is no such flow.
func (l *pathAssigner) checkServes() error {
	var unreachable unreachablePairs
	l.visitFlows(func(_ int, f engine.Flow, ports []engine.Step) bool {
		if ports == nil {
			unreachable.add(f)
		}
		return ports != nil
	})

	return unreachable.err(l.reason)
}

// assignPaths returns the paths of all flows. Flows of one class share ports but not virtual
// channels.
func (l *pathAssigner) assignPaths(ctx context.Context) (*engine.Paths, error) {
	set := newPathSet(l.geometry.degree, l.geometry.link, len(l.problem.Flows))
	var unreachable unreachablePairs
	var path []engine.Step
	var err error
	l.visitFlows(func(i int, f engine.Flow, ports []engine.Step) bool {
		if i%flowsPerCheck == 0 && ctx.Err() != nil {
			err = ctx.Err()
			return false
		}

		if ports == nil {
			unreachable.add(f)
			return true
		}

		// Several paths are separated by engine.Arrived. Channels are set path by path.
		path = append(path[:0], ports...)
		for start := 0; start <= len(path); {
			end := slices.Index(path[start:], engine.Arrived)
			if end < 0 {
				end = len(path) - start
			}
			l.geometry.setChannels(f.Src, path[start:start+end], l.usesSegments)
			start += end + 1
		}

		err = set.add(i, path)
		return err == nil
	})

	if err == nil {
		err = unreachable.err(l.reason)
	}
	return set.paths, err
}

// flowsPerCheck is the number of flows or classes after which a loop over them checks its context.
const flowsPerCheck = 1 << 12

// unreachablePairs collects pairs without a path, for an error message.
type unreachablePairs struct {
	examples []engine.Flow // the first three
	count    int           // number of all pairs
}

// add records a pair.
func (u *unreachablePairs) add(f engine.Flow) {
	if u.count++; len(u.examples) < 3 {
		u.examples = append(u.examples, f)
	}
}

// err returns an error that wraps ErrUnserved and names the pairs with the reason; nil if there
// are no pairs.
func (u *unreachablePairs) err(reason string) error {
	if u.count == 0 {
		return nil
	}
	names := make([]string, len(u.examples))
	for i, f := range u.examples {
		names[i] = fmt.Sprintf("from node %d to %d", f.Src, f.Dst)
	}
	suffix := ""
	if k := u.count - len(u.examples); k > 0 {
		suffix = fmt.Sprintf(" (and %d more pairs)", k)
	}
	return fmt.Errorf("%w: no path %s%s: %s", ErrUnserved, strings.Join(names, ", "), suffix, reason)
}
