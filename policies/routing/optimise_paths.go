package routing

import (
	"slices"

	"sim/engine"
)

// translatedPaths returns the paths of all flows of p. The optimised problem is p translated by
// shift (Problem.canonical).
func (r *optimiser) translatedPaths(p *Problem, shift int32) (*engine.Paths, error) {
	in, rules := r.best.in, r.best.rules
	set := newPathSet(in.degree, in.link, len(p.Flows))

	// from is the translation from the representative of a source to the source, indexed by
	// source; -1 if not computed.
	from := slices.Repeat([]int32{-1}, in.nodes)
	var path []engine.Step
	for i, f := range p.Flows {
		if f.Src == f.Dst {
			var noSteps []engine.Step
			if err := set.add(i, noSteps); err != nil {
				return nil, err
			}
			continue
		}

		// Find the class of the flow, and the node at which the path of the class is numbered.
		class, src := int32(i), f.Src
		if in.isAllToAll && in.symmetry != nil {
			if shift != 0 {
				src = p.Torus.Subtract(src, shift)
			}
			if from[f.Src] < 0 {
				from[f.Src] = p.Torus.Plus(in.symmetry.Shift[src], shift)
			}
			dst := f.Dst
			if h := from[f.Src]; h != 0 {
				dst = p.Torus.Subtract(dst, h)
			}
			class = in.symmetry.Orbit[src]*int32(in.nodes) + dst
		} else if in.isAllToAll {
			if shift != 0 {
				f = engine.Flow{Src: p.Torus.Subtract(f.Src, shift), Dst: p.Torus.Subtract(f.Dst, shift)}
			}
			class = in.classOf(class, f)
			src = f.Src
		}

		path = append(path[:0], r.result.Routes[class]...)
		if rules != nil {
			rules.SetChannels(src, path)
		}
		if err := set.add(i, path); err != nil {
			return nil, err
		}
	}

	return set.paths, nil
}
