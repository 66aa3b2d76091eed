package engine

// pathPrefixes follows paths of many flows: where two begin with the same steps, what these lead to from a node is found once.
type pathPrefixes struct {
	paths      *Paths
	linkEnd    []int32 // by node and port: the node behind the link, -1 where it may not be taken
	pathPrefix []int32 // by path: its prefix of all its steps

	// by prefix, of which the first is empty: the one without its last step, this step's port, and where it leads from a
	// node, -1 where nowhere
	parent    []int32
	port      []int32
	cachedSrc []int32
	cachedEnd []int32
}

// newPathPrefixes returns nil where paths have too few flows each for it to be worth while, or name channels that links may
// lack.
func newPathPrefixes(n *Network, paths *Paths, flows int) *pathPrefixes {
	if flows/4 < len(paths.Start) || flows/2 < len(paths.Step) {
		return nil
	}
	s := &pathPrefixes{paths: paths, linkEnd: make([]int32, len(paths.Link)), pathPrefix: make([]int32, len(paths.Start))}
	channels := int32(paths.Channels())
	for i, l := range paths.Link {
		s.linkEnd[i] = -1
		if l >= 0 && n.Links[l].Rate != 0 {
			if s.linkEnd[i] = n.Links[l].To; max(1, n.Links[l].Channels) < channels {
				return nil
			}
		}
	}
	type longer struct {
		prefix int32
		step   Step
	}
	index := map[longer]int32{}
	s.parent, s.port = append(s.parent, 0), append(s.port, 0)
	for path, begin := range paths.Start {
		prefix := int32(0)
		for i := begin; begin >= 0 && paths.Step[i] != Arrived; i++ {
			key := longer{prefix, paths.Step[i]}
			to, ok := index[key]
			if !ok {
				to = int32(len(s.port))
				index[key] = to
				s.parent, s.port = append(s.parent, prefix), append(s.port, int32(paths.Step[i].Port()))
			}
			prefix = to
		}
		s.pathPrefix[path] = prefix
	}
	s.cachedSrc, s.cachedEnd = make([]int32, len(s.port)), make([]int32, len(s.port))
	for i := range s.cachedSrc {
		s.cachedSrc[i] = -1
	}
	return s
}

// connects reports whether a path leads a flow to its destination.
func (s *pathPrefixes) connects(f Flow, path int32) bool {
	return s.paths.Start[path] >= 0 && f.Src >= 0 && int(f.Src) < len(s.linkEnd)/s.paths.Degree && s.end(f.Src, s.pathPrefix[path]) == f.Dst
}

// end returns where a prefix leads from a node, -1 where nowhere.
func (s *pathPrefixes) end(src, prefix int32) int32 {
	if prefix == 0 {
		return src
	}
	if s.cachedSrc[prefix] == src {
		return s.cachedEnd[prefix]
	}
	node := s.end(src, s.parent[prefix])
	if port := s.port[prefix]; node >= 0 && int(port) < s.paths.Degree {
		node = s.linkEnd[int(node)*s.paths.Degree+int(port)]
	} else {
		node = -1
	}
	s.cachedSrc[prefix], s.cachedEnd[prefix] = src, node
	return node
}
