package result

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// WholePart is a part of a whole in every row.
type WholePart struct {
	Words  string
	Values []float64 // indexed by row; the parts of a row add up to 1
}

// PartsOf returns the parts of a whole that some row has more than 0 of: in the order of the table of metrics, those of
// one line of it from the largest sum over all rows down. It returns nil if no row has one.
func PartsOf(whole string, rows []Row) []WholePart {
	var parts []WholePart
	for _, m := range Metrics {
		if m.Whole != whole {
			continue
		}
		prefix, many := strings.CutSuffix(m.Name, "*")
		sums := map[string]float64{}
		for _, r := range rows {
			for name, v := range r.Metrics {
				if name == m.Name || many && strings.HasPrefix(name, prefix) {
					sums[name] += v
				}
			}
		}
		for _, name := range slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
			return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
		}) {
			if many && sums[name] <= 0 {
				continue
			}
			p := WholePart{Words: cmp.Or(m.Part, strings.TrimPrefix(name, prefix))}
			for _, r := range rows {
				p.Values = append(p.Values, r.Metrics[name])
			}
			parts = append(parts, p)
		}
	}
	return parts
}
