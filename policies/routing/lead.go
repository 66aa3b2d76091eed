package routing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
)

// leader leads flows over a torus or mesh, those that translations take into each other by the same ports.
type leader struct {
	z *geometry
	p *Problem
	y *Symmetry // of which one flow a class is chosen for; nil is each
	// choose returns the ports of a flow's path, or of several with Arrived between; nil where there is none, for the
	// reason why. What it returns is kept where y is not nil.
	choose   func(f engine.Flow) []engine.Step
	why      string
	segments bool // the rule of virtual channels is Segments
}

// chosen calls do with every flow and what is chosen for it, until that reports false.
func (l *leader) chosen(do func(i int, f engine.Flow, ports []engine.Step) bool) {
	var known [][]engine.Step
	if l.y != nil && len(l.y.Sources) < l.z.Nodes() { // else no two flows are of one class
		known = make([][]engine.Step, l.y.Classes())
	}
	for i, f := range l.p.Flows {
		var ports []engine.Step
		if known == nil {
			ports = l.choose(f)
		} else {
			class := l.y.Class(f)
			if known[class] == nil {
				known[class] = l.choose(l.y.Flow(class))
			}
			ports = known[class]
		}
		if !do(i, f, ports) {
			return
		}
	}
}

// serves fails, with ErrUnserved, where lead would as some flow has no path, and names the first.
func (l *leader) serves() error {
	var apart unjoined
	l.chosen(func(_ int, f engine.Flow, ports []engine.Step) bool {
		if ports == nil {
			apart.add(f)
		}
		return ports != nil
	})
	return apart.err(l.why)
}

// lead leads the flows. Paths of one class share ports, and have virtual channels of their own.
func (l *leader) lead(ctx context.Context) (*engine.Paths, error) {
	set := newPathSet(l.z.degree, l.z.link, len(l.p.Flows))
	var apart unjoined
	var path []engine.Step
	var err error
	l.chosen(func(i int, f engine.Flow, ports []engine.Step) bool {
		if i&0xfff == 0 && ctx.Err() != nil {
			err = ctx.Err()
			return false
		}
		if ports == nil {
			apart.add(f)
			return true
		}
		path = append(path[:0], ports...)
		for begin := 0; begin <= len(path); {
			end := slices.Index(path[begin:], engine.Arrived)
			if end < 0 {
				end = len(path) - begin
			}
			l.z.channels(f.Src, path[begin:begin+end], l.segments)
			begin += end + 1
		}
		err = set.add(i, path)
		return err == nil
	})
	if err == nil {
		err = apart.err(l.why)
	}
	return set.paths, err
}

// unjoined collects pairs that no path joins.
type unjoined struct {
	first []engine.Flow // three at most
	count int
}

func (u *unjoined) add(f engine.Flow) {
	if u.count++; len(u.first) < 3 {
		u.first = append(u.first, f)
	}
}

// err names the pairs, with ErrUnserved, and says why; nil where there are none.
func (u *unjoined) err(why string) error {
	if u.count == 0 {
		return nil
	}
	words := make([]string, len(u.first))
	for i, f := range u.first {
		words[i] = fmt.Sprintf("from node %d to %d", f.Src, f.Dst)
	}
	more := ""
	if k := u.count - len(u.first); k > 0 {
		more = fmt.Sprintf(" (and %d more pairs)", k)
	}
	return fmt.Errorf("%w: no way %s%s: %s", ErrUnserved, strings.Join(words, ", "), more, why)
}
