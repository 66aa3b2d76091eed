// This file checks results and details: that JSON can represent all numbers, and that
// parts fit together.

package result

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Check fails on metrics that JSON cannot represent (NaN, Inf), on rows without a policy,
// and on duplicate policies.
func (d *Document) Check() error {
	const why = "which no result may hold"
	var noSamples map[string][]float64
	if err := checkValues("reference", why, isFinite, noSamples, d.Reference); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, r := range d.Rows {
		switch {
		case r.Policy == "":
			return fmt.Errorf("row %d of the result has no policy", i+1)
		case seen[r.Policy]:
			return fmt.Errorf("the result has two rows of %s", r.Policy)
		}
		seen[r.Policy] = true
		if err := checkValues(r.Policy, why, isFinite, r.Samples, r.Metrics); err != nil {
			return err
		}
	}
	return nil
}

// Check fails on numbers that JSON cannot represent and on inconsistent parts, so that
// readers need no further checks.
func (d *Detail) Check() error {
	if where, _, found := FindOutOfRange(reflect.ValueOf(d), math.MaxFloat64); found {
		return fmt.Errorf("detail%s is not a finite number", where)
	}
	if err := d.Reference.check("the reference"); err != nil {
		return err
	}
	for i := range d.Policies {
		if err := d.Policies[i].check(d.Policies[i].Policy); err != nil {
			return err
		}
	}
	w := &d.Windows
	for _, n := range []int{len(w.EarliestS), len(w.LatestS), len(w.StartS), len(w.EndS),
		len(w.FirstK), len(w.LastK), len(w.TopoMin), len(w.TopoMax), len(w.MinK), len(w.MaxK)} {
		if n != len(w.Task) && n != 0 {
			return fmt.Errorf("the windows have %d tasks but a column of %d", len(w.Task), n)
		}
	}
	return nil
}

// check fails on series and spans that go back in time, and on inconsistent parts. owner names
// the simulation in messages.
func (p *Simulation) check(owner string) error {
	for _, group := range [][]Series{p.Demand, p.Rates, p.Circuits, p.Links} {
		for _, s := range group {
			if len(s.TimeS) != len(s.Value) {
				return fmt.Errorf("series %q of %s has %d times and %d values", s.Name, owner, len(s.TimeS), len(s.Value))
			}
			if !slices.IsSorted(s.TimeS) {
				return fmt.Errorf("series %q of %s goes back in time", s.Name, owner)
			}
		}
	}
	for _, l := range slices.Concat(p.Tracks, p.Nodes) {
		for i, s := range l.Spans {
			if s.StartS < 0 || s.EndS < s.StartS || i > 0 && s.StartS < l.Spans[i-1].StartS {
				return fmt.Errorf("span %q on track %q of %s starts below 0 or goes back in time", s.Label, l.Name, owner)
			}
		}
	}
	return cmp.Or(p.Schedule.check(owner), p.Torus.check(owner), p.Graph.check(owner), p.Delay.check(owner), p.Messages.check(owner), p.Topology.check(owner))
}

// check fails on links with invalid nodes and on paths that do not lead from source to
// destination. A nil graph is valid.
func (g *Graph) check(owner string) error {
	if g == nil {
		return nil
	}
	return checkLinks(owner, "graph", g.Pairs, len(g.Nodes), len(g.Links), func(i int) (int, int) { return g.Links[i].From, g.Links[i].To })
}

// check fails on circuits between pods that do not exist. A nil topology is valid.
func (t *Topology) check(owner string) error {
	if t == nil {
		return nil
	}
	for _, q := range t.Pairs {
		if q.A < 0 || q.B < 0 || q.A >= len(t.Pods) || q.B >= len(t.Pods) {
			return fmt.Errorf("the topology of %s joins pods %d and %d of %d", owner, q.A, q.B, len(t.Pods))
		}
	}
	return nil
}

// maxTorusNodes is larger than every fabric, and small enough that products of dimensions
// cannot overflow.
const maxTorusNodes = 1 << 30

// check fails on invalid indices and on paths whose links do not lead from source to
// destination. A nil torus is valid.
func (l *Torus) check(owner string) error {
	if l == nil {
		return nil
	}
	nodes := 1
	for _, d := range l.Dims {
		if d < 1 || d > maxTorusNodes/nodes {
			return fmt.Errorf("the torus geometry of %s has the dimensions %v; each must be 1 or more, and their product at most %d", owner, l.Dims, maxTorusNodes)
		}
		nodes *= d
	}
	if err := checkLinks(owner, "torus geometry", l.Pairs, nodes, len(l.Links), func(i int) (int, int) { return l.Links[i].From, l.Links[i].To }); err != nil {
		return err
	}
	inside := func(n int) bool { return n >= 0 && n < nodes }
	for i, k := range l.Links {
		switch {
		case k.Dim < 0 || k.Dim >= len(l.Dims):
			return fmt.Errorf("link %d of the torus geometry of %s lies in dimension %d of %d", i, owner, k.Dim, len(l.Dims))
		case k.State != "" && k.State != "down" && k.State != "drained":
			return fmt.Errorf("link %d of the torus geometry of %s is %q; it can be down, drained or empty", i, owner, k.State)
		case k.Load < 0:
			return fmt.Errorf("link %d of the torus geometry of %s carries %g, which is less than nothing", i, owner, k.Load)
		}
	}
	for i, w := range l.Routes {
		if !inside(w.Src) || !inside(w.Dst) {
			return fmt.Errorf("path %d of the torus geometry of %s leads from node %d to %d of %d", i, owner, w.Src, w.Dst, nodes)
		}

		// Follow the links of the path. Each must leave the node at which the last one ended.
		node := w.Src
		for _, k := range w.Links {
			if k < 0 || k >= len(l.Links) {
				return fmt.Errorf("path %d of the torus geometry of %s takes link %d of %d", i, owner, k, len(l.Links))
			}
			if l.Links[k].From != node {
				return fmt.Errorf("path %d of the torus geometry of %s is at node %d and takes link %d, which leaves node %d", i, owner, node, k, l.Links[k].From)
			}
			node = l.Links[k].To
		}
		if node != w.Dst {
			return fmt.Errorf("path %d of the torus geometry of %s ends at node %d, not at %d", i, owner, node, w.Dst)
		}
	}
	return nil
}

// checkLinks fails on links with invalid nodes, and on paths of pairs (see Torus.Pairs)
// that do not lead from source to destination. pairs may be empty. ends returns the nodes
// of a link.
func checkLinks(owner, what string, pairs []string, nodes, links int, ends func(link int) (from, to int)) error {
	inside := func(n int) bool { return n >= 0 && n < nodes }
	for i := range links {
		if from, to := ends(i); !inside(from) || !inside(to) {
			return fmt.Errorf("link %d of the %s of %s joins nodes %d and %d of %d", i, what, owner, from, to, nodes)
		}
	}
	switch len(pairs) {
	case 0:
		return nil
	case nodes:
	default:
		return fmt.Errorf("%s has routes from %d nodes of %d", owner, len(pairs), nodes)
	}

	// A path is a string with one character per link: '0' for the first of the links that
	// leave the current node, '1' for the second, and so on beyond '9'. It is empty if the
	// path is unknown.
	out := make([][]int, nodes) // destinations of outgoing links, indexed by node
	for i := range links {
		from, to := ends(i)
		out[from] = append(out[from], to)
	}
	for src, row := range pairs {
		routes := strings.Split(row, " ")
		if len(routes) != nodes {
			return fmt.Errorf("%s has routes from node %d to %d nodes of %d", owner, src, len(routes), nodes)
		}
		for dst, route := range routes {
			node := src
			for _, hop := range []byte(route) {
				port := int(hop) - '0'
				if port < 0 || port >= len(out[node]) {
					return fmt.Errorf("the route of %s from node %d to %d leaves node %d by link %d of %d", owner, src, dst, node, port, len(out[node]))
				}
				node = out[node][port]
			}
			if route != "" && node != dst {
				return fmt.Errorf("the route of %s from node %d to %d ends at %d", owner, src, dst, node)
			}
		}
	}
	return nil
}

// check fails on negative delays and on unordered bins. A nil delay is valid.
func (d *Delay) check(owner string) error {
	if d == nil {
		return nil
	}
	if d.MeanS < 0 || d.P50S < 0 || d.P99S < d.P50S || d.MaxS < d.P99S {
		return fmt.Errorf("the delays of %s are below 0 or out of order: median %g s, 99th percentile %g s, largest %g s", owner, d.P50S, d.P99S, d.MaxS)
	}
	for i, b := range d.Bins {
		if b.FromS < 0 || b.ToS < b.FromS || b.Packets < 0 || i > 0 && b.FromS < d.Bins[i-1].ToS {
			return fmt.Errorf("bin %d of the delays of %s, from %g to %g s with %d packets, is below 0 or out of order", i, owner, b.FromS, b.ToS, b.Packets)
		}
	}
	return nil
}

// FindOutOfRange returns the path from v to the first number below it that is NaN or
// whose absolute value exceeds limit, and that number. It allocates no text unless it
// finds one.
func FindOutOfRange(v reflect.Value, limit float64) (path string, number float64, found bool) {
	switch v.Kind() {
	case reflect.Float64:
		return "", v.Float(), !(math.Abs(v.Float()) <= limit)
	case reflect.Pointer:
		if !v.IsNil() {
			return FindOutOfRange(v.Elem(), limit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if at, f, found := FindOutOfRange(v.Field(i), limit); found {
				return "." + v.Type().Field(i).Name + at, f, true
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if at, f, found := FindOutOfRange(v.MapIndex(key), limit); found {
				return fmt.Sprintf("[%v]%s", key, at), f, true
			}
		}
	case reflect.Slice:
		if fs, ok := v.Interface().([]float64); ok { // fast path: nearly all numbers are in such slices
			at := slices.IndexFunc(fs, func(f float64) bool { return !(math.Abs(f) <= limit) })
			if at < 0 {
				return "", 0, false
			}
			return fmt.Sprintf("[%d]", at), fs[at], true
		}
		if k := v.Type().Elem().Kind(); k == reflect.String || k == reflect.Int || k == reflect.Array {
			return "", 0, false
		}
		for i := range v.Len() {
			if at, f, found := FindOutOfRange(v.Index(i), limit); found {
				return fmt.Sprintf("[%d]%s", i, at), f, true
			}
		}
	}
	return "", 0, false
}
