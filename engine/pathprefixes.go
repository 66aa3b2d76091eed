package engine

// pathPrefixes makes Paths.Check faster if many flows share few paths. A prefix is a sequence of
// first steps of at least one path; prefixes form a tree (trie). The node at which a prefix ends
// is computed once for consecutive flows with the same source.
type pathPrefixes struct {
	paths *Paths
	// linkEnd is the node at the end of a port's link, indexed by node*Degree+port; -1 if the
	// port cannot be used.
	linkEnd    []int32
	pathPrefix []int32 // prefix with all steps of a path, indexed by path

	// The prefixes. Prefix 0 is empty. cachedSrc and cachedEnd hold the last result of end:
	// the node at which the prefix ends from a source, -1 if a link is missing or down.
	parent    []int32 // prefix without the last step
	port      []int32 // port of the last step
	cachedSrc []int32
	cachedEnd []int32
}

// newPathPrefixes builds the prefixes of all paths. It returns nil if there are too few flows
// for a gain: fewer than four per path or two per step, because building the tree costs about as
// much as following each path once. It also returns nil if some link may lack a channel that the
// paths use.
func newPathPrefixes(n *Network, paths *Paths, flows int) *pathPrefixes {
	const minFlowsPerPath, minFlowsPerStep = 4, 2
	if flows/minFlowsPerPath < len(paths.Start) || flows/minFlowsPerStep < len(paths.Step) {
		return nil
	}

	s := &pathPrefixes{
		paths: paths, linkEnd: make([]int32, len(paths.Link)),
		pathPrefix: make([]int32, len(paths.Start))}
	channels := int32(paths.Channels())
	for i, l := range paths.Link {
		s.linkEnd[i] = -1
		if l >= 0 && n.Links[l].Rate != 0 {
			if s.linkEnd[i] = n.Links[l].To; max(1, n.Links[l].Channels) < channels {
				return nil
			}
		}
	}
	type extension struct {
		prefix int32
		step   Step
	}
	index := map[extension]int32{}

	s.parent, s.port = append(s.parent, 0), append(s.port, 0)
	for path, begin := range paths.Start {
		prefix := int32(0)
		for i := begin; begin >= 0 && paths.Step[i] != Arrived; i++ {
			key := extension{prefix, paths.Step[i]}
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

// connects reports whether a path connects the source and destination of a flow.
func (s *pathPrefixes) connects(f Flow, path int32) bool {
	return s.paths.Start[path] >= 0 && f.Src >= 0 && int(f.Src) < len(s.linkEnd)/s.paths.Degree &&
		s.end(f.Src, s.pathPrefix[path]) == f.Dst
}

// end returns the node at which a prefix ends if it starts at src, -1 if a link is missing or down.
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
