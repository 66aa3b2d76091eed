package routing

import "slices"

// canonical translates the problem along dimensions without failed links, such that the failed
// links get the smallest possible numbers. It also returns the node that the translation maps to
// node 0. The faults of all 16 optical switches of a dimension thus become one problem with one
// choice of paths. The result is p itself if nodes are not identical.
func (p *Problem) canonical() (*Problem, int32) {
	t := p.Torus
	if t == nil || !t.Symmetric() || !p.Uniform() || p.RatesDiffer() {
		return p, 0
	}

	// List the ports that are down, and the dimensions that have some.
	degree, link := t.Ports()
	var down []int32 // ports that are down, node*degree+port

	hasDown := make([]bool, len(t.Dims)) // indexed by dimension
	for k, l := range link {
		if int(l) >= len(p.Network.Links) {
			return p, 0 // inconsistent: newAdjacency reports it
		}
		if l >= 0 && p.Network.Links[l].Rate <= 0 {
			down = append(down, int32(k))
			hasDown[k%degree/2] = true
		}
	}

	if len(down) == 0 {
		return p, 0
	}
	shift := int32(0)
	minimal := slices.Clone(down)
	moved := make([]int32, len(down))

	var units []int32 // unit translations along dimensions without failed links
	for d, has := range hasDown {
		const node, up = 0, true
		if to, ok := t.Next(node, d, up); ok && !has {
			units = append(units, to)
		}
	}

	// Try all translations along dimensions without failed links.
	for _, h := range generatedGroup(t, units) {
		for i, k := range down {
			moved[i] = t.Subtract(k/int32(degree), h)*int32(degree) + k%int32(degree)
		}
		slices.Sort(moved)
		if slices.Compare(moved, minimal) < 0 {
			shift = h
			copy(minimal, moved)
		}
	}

	if shift == 0 {
		return p, 0
	}

	// Translate the links' rates.
	q, n := *p, *p.Network
	n.Links = slices.Clone(n.Links)
	for k, l := range link {
		if l >= 0 {
			from := link[int(t.Plus(int32(k/degree), shift))*degree+k%degree]
			n.Links[l].Rate = p.Network.Links[from].Rate
		}
	}

	q.Network = &n
	return &q, shift
}
