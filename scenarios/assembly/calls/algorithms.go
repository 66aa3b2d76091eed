// This file holds the choice of algorithms for the collective calls of a training step,
// for all calls or by dimension of parallelism.

package calls

import (
	"cmp"
	"strings"

	"sim/policies/collective"
	"sim/workloads/training"
)

// Algorithms names the algorithms that expand the collective calls of a training step. It
// is one name for all calls, or a list of names by dimension of parallelism, such as
// "tp=ring,ep=direct". Dimensions without a name have a default; see Expander.algorithm.
type Algorithms string

const (
	// DefaultAlgorithm is the default algorithm of a call.
	DefaultAlgorithm = "ring"
	// defaultInDomains is the default algorithm of gradient synchronisation if domains
	// hold several copies of a parameter. The copies of a domain reduce first, then the
	// domains reduce among each other.
	defaultInDomains = "hierarchical"
)

// ForDim returns the algorithm of a dimension, DefaultAlgorithm if none is named.
func (a Algorithms) ForDim(dim training.Phase) string {
	name, _ := a.namedFor(dim)
	return cmp.Or(name, DefaultAlgorithm)
}

// namedFor returns the algorithm that is named for a dimension, or false if none is
// named.
func (a Algorithms) namedFor(dim training.Phase) (string, bool) {
	if !a.hasDimensions() {
		return string(a), a != ""
	}
	for part := range strings.SplitSeq(string(a), ",") {
		if name, algorithm, _ := strings.Cut(part, "="); name == dim.String() {
			return algorithm, algorithm != ""
		}
	}
	return "", false
}

// hasDimensions reports whether a lists algorithms by dimension.
func (a Algorithms) hasDimensions() bool { return strings.Contains(string(a), "=") }

// With returns the algorithms with another one for a dimension; "" means the default.
// Synchronisation keeps its default if no algorithm is named for it.
func (a Algorithms) With(dim training.Phase, algorithm string) Algorithms {
	byDim := map[string]string{}
	for _, d := range training.Dims {
		if _, ok := a.namedFor(d); ok || d != training.Sync {
			byDim[d.String()] = a.ForDim(d)
		}
	}
	if byDim[dim.String()] = algorithm; algorithm == "" {
		delete(byDim, dim.String())
	}
	return NewAlgorithms(byDim)
}

// NewAlgorithms returns the algorithms of a map from dimensions to names.
func NewAlgorithms(byDim map[string]string) Algorithms {
	var parts []string
	for _, d := range training.Dims {
		if name, ok := byDim[d.String()]; ok {
			parts = append(parts, d.String()+"="+name)
		}
	}
	return Algorithms(strings.Join(parts, ","))
}

// SplitBest returns the algorithms with defaults in place of collective.BestName, and the
// dimensions that had this name. The algorithms of these dimensions are to be searched.
func (a Algorithms) SplitBest() (Algorithms, []training.Phase) {
	var open []training.Phase
	for _, d := range training.Dims {
		if a.ForDim(d) == collective.BestName {
			open = append(open, d)
		}
	}
	const undecided = ""
	for _, d := range open {
		a = a.With(d, undecided)
	}
	return a, open
}

// Names returns the single name, or the algorithms of all dimensions in the order of
// training.Dims.
func (a Algorithms) Names() []string {
	if a == "" || !a.hasDimensions() {
		return []string{string(a)}
	}
	var names []string
	for _, d := range training.Dims {
		names = append(names, a.ForDim(d))
	}
	return names
}
