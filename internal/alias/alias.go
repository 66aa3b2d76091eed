// Package alias maps deprecated names of scenario keys and of metrics to current names.
//
// Readers of scenarios, overrides, studies and stored results replace deprecated names when they
// read them, so other code and all output use current names only. Begin reading with Keys and
// Metrics.
package alias

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Rename is a deprecated name and its replacement.
type Rename struct{ Old, New string }

// Keys lists the deprecated keys and tables. Old is the dotted path, in which keys of arrays of
// tables have no index. The parents in Old have their current names. New is the new last part.
var Keys = []Rename{
	{"fabric.configured", "previous_configuration"},
	{"fabric.fail_at", "failure_time"},
	{"fabric.known_ahead", "predicted_calls"},
	{"fabric.reconfigure", "reconfiguration_mode"},
	{"fabric.reroute_after", "reroute_delay"},
	{"fabric.switches.from", "first_node"},
	{"plot.also", "extra_y"},
	{"plot.below", "lower_y"},
	{"plot.below_of", "lower_series"},
	{"plot.from", "y_min"},
	{"plot.marked_at", "x_mark"},
	{"plot.take", "aggregation"},
	{"plot.to", "y_max"},
	{"policy.arbiters", "multi_job_allocators"},
	{"policy.donor", "lender_allocator"},
	{"policy.donor_ties", "lender_ties"},
	{"policy.donor_tolerance", "lender_tolerance"},
	{"policy.fault.slower", "constant_slowdown"},
	{"policy.multipath.over", "paths"},
	{"policy.multipath.ways", "max_paths"},
	{"policy.wild-first.use", "pairs"},
	{"replay", "trials"},
	{"trials.lost_when", "loss_time"},
	{"trials.react", "reaction"},
	{"trials.seeds", "count"},
	{"workload.along", "call_dims"},
	{"workload.jobs_a_day", "jobs_per_day"},
	{"workload.joined", "grouping"},
	{"workload.sends", "sparse_matrix"},
	{"workload.watch", "measured_cubes"},
}

// Metrics lists the deprecated metrics. A "*" at the end stands for any text, which remains. The
// first match applies.
var Metrics = []Rename{
	{"before_makespan_s", "baseline_makespan_s"},
	{"donor_*", "lender_*"},
	{"nct_before", "baseline_nct"},
	{"play_s", "simulation_s"},
	{"replay_plays", "trial_count"},
	{"replay_stalled", "trial_stalls"},
	{"replay_*", "trial_*"},
	{"walks", "paths"},
}

// labels lists the deprecated labels of rows that are not named after a metric.
var labels = []Rename{{"donor", "lender"}, {"replay", "trials"}}

// newPart maps the paths of deprecated keys to their new last parts.
var newPart = func() map[string]string {
	parts := map[string]string{}
	for _, r := range Keys {
		parts[r.Old] = r.New
	}
	return parts
}()

// context follows the path of a key from the root of a scenario. It is the path as Keys writes it:
// with current names and without indices. A job has the keys of a scenario, and a tier has the keys of a fabric.
type context string

// enter returns the current name of a part and the context inside it.
func (c context) enter(name string) (string, context) {
	if _, err := strconv.Atoi(name); err == nil {
		return name, c // an element of an array of tables
	}
	join := func(name string) context { return context(strings.TrimPrefix(string(c)+"."+name, ".")) }
	if part, ok := newPart[string(join(name))]; ok {
		name = part
	}
	switch inside := join(name); inside {
	case "job":
		return name, ""
	case "fabric.tier":
		return name, "fabric"
	default:
		return name, inside
	}
}

// Parts returns the parts of a key's path with current names.
func Parts(parts []string) []string {
	out, in := slices.Clone(parts), context("")
	for i, part := range parts {
		out[i], in = in.enter(part)
	}
	return out
}

// Key returns the current name of a dotted key. Parts may be in quotes.
func Key(path string) string {
	parts, in := strings.Split(path, "."), context("")
	for i, part := range parts {
		name := strings.Trim(part, `"`)
		var current string
		if current, in = in.enter(name); current != name {
			parts[i] = current
		}
	}
	return strings.Join(parts, ".")
}

// LastPart returns the current last part of a key whose last part is name.
func LastPart(name string) string {
	for _, r := range Keys {
		if strings.HasSuffix(r.Old, "."+name) {
			return r.New
		}
	}
	return name
}

// Values gives the keys inside v, the value of the key at path, their current names. It calls found
// with the path of each deprecated key as it was written. duplicate reports that the table has the
// current name, too; the value of the deprecated key is then dropped. Tables whose
// path is in skip remain unchanged.
func Values(v any, path []string, found func(old []string, duplicate bool), skip ...string) {
	in := context("")
	for _, part := range path {
		_, in = in.enter(part)
	}
	var rename func(v any, path []string, in context)
	rename = func(v any, path []string, in context) {
		inside := func(name string) []string { return append(slices.Clip(path), name) }
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				current, below := in.enter(name)
				if slices.Contains(skip, string(below)) {
					continue
				}
				value := v[name]
				if current != name {
					_, duplicate := v[current]
					found(inside(name), duplicate)
					if delete(v, name); duplicate {
						continue
					}
					v[current] = value
				}
				rename(value, inside(name), below)
			}
		case []map[string]any:
			for i, row := range v {
				rename(row, inside(strconv.Itoa(i)), in)
			}
		case []any:
			for i, element := range v {
				switch element.(type) {
				case map[string]any, []any: // numbers of large matrices are skipped
					rename(element, inside(strconv.Itoa(i)), in)
				}
			}
		}
	}
	rename(v, path, in)
}

// Label returns the current name of a label of a row.
func Label(name string) string {
	for _, r := range labels {
		if r.Old == name {
			return r.New
		}
	}
	return Metric(name)
}

// Metric returns the current name of a metric. The name may have a prefix, such as "reference.", or
// be a quotient of two metrics.
func Metric(name string) string {
	// The name of a job may contain a slash.
	if over, under, ok := strings.Cut(name, "/"); ok && !strings.HasPrefix(name, "job.") {
		over, under = strings.TrimSpace(over), strings.TrimSpace(under)
		if a, b := Metric(over), Metric(under); a != over || b != under {
			return a + "/" + b
		}
		return name
	}
	prefixEnd := strings.LastIndexByte(name, '.') + 1
	prefix, last := name[:prefixEnd], name[prefixEnd:]
	for _, r := range Metrics {
		old, isPattern := strings.CutSuffix(r.Old, "*")
		if rest, ok := strings.CutPrefix(last, old); ok && (isPattern || rest == "") {
			return prefix + strings.TrimSuffix(r.New, "*") + rest
		}
	}
	return name
}
