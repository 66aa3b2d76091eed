package graph

// Sets are disjoint sets of numbers, by number a member of its set that is no greater (union-find). The least of each
// set stands for it.
type Sets []int32

// NewSets returns the sets of one number each, from 0 to n-1.
func NewSets(n int) Sets {
	s := make(Sets, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// Find returns the least number of a's set.
func (s Sets) Find(a int32) int32 {
	for s[a] != a {
		s[a] = s[s[a]]
		a = s[a]
	}
	return a
}

// Join makes one set of those of a and b.
func (s Sets) Join(a, b int32) {
	a, b = s.Find(a), s.Find(b)
	s[max(a, b)] = min(a, b)
}
