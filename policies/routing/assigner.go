package routing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
)

// pathAssigner leads flows over a torus or mesh, those that translations take into each other by the same ports.
type pathAssigner struct {
	geometry *geometry
	problem  *Problem
	symmetry *Symmetry // of which one flow a class is chosen for; nil is each
	// choose returns the ports of a flow's path, or of several with Arrived between; nil where there is none, for the
	// reason why. What it returns is kept where y is not nil.
	choose       func(f engine.Flow) []engine.Step
	reason       string
	usesSegments bool // the rule of virtual channels is Segments
}

// visitFlows calls do with every flow and what is chosen for it, until that reports false.
func (l *pathAssigner) visitFlows(do func(i int, f engine.Flow, ports []engine.Step) bool) {
	var portsByClass [][]engine.Step
	if l.symmetry != nil && len(l.symmetry.Sources) < l.geometry.Nodes() { // else no two flows are of one class
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

// checkServes fails, with ErrUnserved, where lead would as some flow has no path, and names the first.
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

// assignPaths leads the flows. Paths of one class share ports, and have virtual channels of their own.
func (l *pathAssigner) assignPaths(ctx context.Context) (*engine.Paths, error) {
	set := newPathSet(l.geometry.degree, l.geometry.link, len(l.problem.Flows))
	var unreachable unreachablePairs
	var path []engine.Step
	var err error
	l.visitFlows(func(i int, f engine.Flow, ports []engine.Step) bool {
		if i&0xfff == 0 && ctx.Err() != nil {
			err = ctx.Err()
			return false
		}
		if ports == nil {
			unreachable.add(f)
			return true
		}
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

// unreachablePairs collects pairs that no path joins.
type unreachablePairs struct {
	examples []engine.Flow // three at most
	count    int
}

func (u *unreachablePairs) add(f engine.Flow) {
	if u.count++; len(u.examples) < 3 {
		u.examples = append(u.examples, f)
	}
}

// err names the pairs, with ErrUnserved, and says why; nil where there are none.
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
	return fmt.Errorf("%w: no way %s%s: %s", ErrUnserved, strings.Join(names, ", "), suffix, reason)
}
