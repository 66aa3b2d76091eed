package routing

import (
	"slices"

	"sim/engine"
)

// walks leads all flows by the ways of their classes. Flows of p are those of r.p, translated by a node.
func (r *optimiser) walks(p *Problem, by int32) (*engine.Walks, error) {
	in, rules := r.found.in, r.found.rules
	set := newWalkSet(in.degree, in.link, len(p.Flows))
	seen := newSeen(in.classes(r.p))
	from := slices.Repeat([]int32{-1}, in.nodes) // the translation of the flows of a source to their class
	var walk []engine.Step
	for i, f := range p.Flows {
		if f.Src == f.Dst {
			if err := set.add(i, nil); err != nil {
				return nil, err
			}
			continue
		}
		class, src := int32(i), f.Src
		if in.all && in.symmetry != nil {
			if by != 0 {
				src = p.Torus.Subtract(src, by)
			}
			if from[f.Src] < 0 {
				from[f.Src] = p.Torus.Plus(in.symmetry.Shift[src], by)
			}
			dst := f.Dst
			if h := from[f.Src]; h != 0 {
				dst = p.Torus.Subtract(dst, h)
			}
			class = in.symmetry.Orbit[src]*int32(in.nodes) + dst
		} else if in.all {
			if by != 0 {
				f = engine.Flow{Src: p.Torus.Subtract(f.Src, by), Dst: p.Torus.Subtract(f.Dst, by)}
			}
			class, src = in.classOf(class, f), f.Src
		}
		walk = append(walk[:0], r.result.Ways[class]...)
		if rules != nil {
			rules.Channels(src, walk)
		}
		w, err := seen.number(set, class, walk)
		if err != nil {
			return nil, err
		}
		set.walks.Class[i] = w
	}
	return set.walks, nil
}

// seen remembers the walks of a class by their channels.
type seen struct {
	first []int32 // by class; -1
	known []known
}

type known struct {
	channels   uint64 // of its steps, a bit each
	walk, next int32
}

func newSeen(classes int) *seen { return &seen{first: slices.Repeat([]int32{-1}, classes)} }

// number returns the number of a walk of a class, all of which have the same ports.
func (z *seen) number(set *walkSet, class int32, walk []engine.Step) (int32, error) {
	if len(walk) > 64 {
		return set.number(walk)
	}
	channels := uint64(0)
	for i, s := range walk {
		if s.Channel() > 1 {
			return set.number(walk)
		}
		channels |= uint64(s.Channel()) << i
	}
	for k := z.first[class]; k >= 0; k = z.known[k].next {
		if z.known[k].channels == channels {
			return z.known[k].walk, nil
		}
	}
	w, err := set.number(walk)
	z.known = append(z.known, known{channels, w, z.first[class]})
	z.first[class] = int32(len(z.known) - 1)
	return w, err
}
