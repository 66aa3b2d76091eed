package engine

// shared follows paths of many flows: where two begin with the same steps, what these lead to from a node is found once.
type shared struct {
	w    *Paths
	next []int32 // by node and port: the node behind the link, -1 where it may not be taken
	last []int32 // by path: its prefix of all its steps

	// by prefix, of which the first is empty: the one without its last step, this step's port, and where it leads from a
	// node, -1 where nowhere
	before []int32
	port   []int32
	from   []int32
	to     []int32
}

// newShared returns nil where paths have too few flows each for it to be worth while, or name channels that links may
// lack.
func newShared(n *Network, w *Paths, flows int) *shared {
	if flows/4 < len(w.Start) || flows/2 < len(w.Step) {
		return nil
	}
	s := &shared{w: w, next: make([]int32, len(w.Link)), last: make([]int32, len(w.Start))}
	channels := int32(w.Channels())
	for i, l := range w.Link {
		s.next[i] = -1
		if l >= 0 && n.Links[l].Rate != 0 {
			if s.next[i] = n.Links[l].To; max(1, n.Links[l].Channels) < channels {
				return nil
			}
		}
	}
	type longer struct {
		prefix int32
		step   Step
	}
	known := map[longer]int32{}
	s.before, s.port = append(s.before, 0), append(s.port, 0)
	for path, begin := range w.Start {
		at := int32(0)
		for i := begin; begin >= 0 && w.Step[i] != Arrived; i++ {
			key := longer{at, w.Step[i]}
			to, ok := known[key]
			if !ok {
				to = int32(len(s.port))
				known[key] = to
				s.before, s.port = append(s.before, at), append(s.port, int32(w.Step[i].Port()))
			}
			at = to
		}
		s.last[path] = at
	}
	s.from, s.to = make([]int32, len(s.port)), make([]int32, len(s.port))
	for i := range s.from {
		s.from[i] = -1
	}
	return s
}

// leads reports whether a path leads a flow to its destination.
func (s *shared) leads(f Flow, path int32) bool {
	return s.w.Start[path] >= 0 && f.Src >= 0 && int(f.Src) < len(s.next)/s.w.Degree && s.end(f.Src, s.last[path]) == f.Dst
}

// end returns where a prefix leads from a node, -1 where nowhere.
func (s *shared) end(src, prefix int32) int32 {
	if prefix == 0 {
		return src
	}
	if s.from[prefix] == src {
		return s.to[prefix]
	}
	at := s.end(src, s.before[prefix])
	if port := s.port[prefix]; at >= 0 && int(port) < s.w.Degree {
		at = s.next[int(at)*s.w.Degree+int(port)]
	} else {
		at = -1
	}
	s.from[prefix], s.to[prefix] = src, at
	return at
}
