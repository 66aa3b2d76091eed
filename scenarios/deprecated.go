// This file translates deprecated workloads into the keys that replace them.

package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/schema"
)

// ringAlias replaces the deprecated workloads ring-all-reduce, ring-reduce-scatter and
// ring-all-gather by collective calls with an algorithm for rings. aliases makes
// diagnostics name the keys in the file.
func (c *checker) ringAlias() {
	w, fabric, policy := schema.Child(c.Root, "workload"), schema.Child(c.Root, "fabric"), schema.Child(c.Root, "policy")
	old, _ := w["kind"].(string)
	kind, isRing := strings.CutPrefix(old, "ring-")
	if op, err := collective.ParseKind(kind); !isRing || err != nil || !slices.Contains(plan.Ops, op) {
		return
	}

	if policy == nil {
		policy = map[string]any{}
		c.Root["policy"] = policy
	}

	c.aliases = map[string]string{}

	// set sets the key at path, which is in table, to a value that follows from another key
	// of [workload]. It returns the line of a file with the same effect.
	set := func(table map[string]any, path, from string, value any) string {
		_, key := schema.CutLast(path)
		table[key], c.aliases[path] = value, "workload."+from
		text, _ := json.Marshal(value) // JSON of texts, lists and booleans is TOML
		return path + " = " + string(text)
	}

	// take removes a key of [workload] and returns its value, which must be one of choices.
	// If the key is absent, it returns the first choice.
	take := func(key string, choices ...string) string {
		v, given := w[key]
		text, _ := v.(string)
		if delete(w, key); !given {
			return choices[0]
		} else if !slices.Contains(choices, text) {
			c.rejectf("workload."+key, "is %s; write %s", schema.Describe(v),
				schema.QuotedList(choices[slices.Index(choices, "")+1:]))
		}
		return text
	}

	// Remove the keys of rings.
	oneRing := take("rings", "one", "per-dimension") != "per-dimension"
	form := take("ring_form", "", "links", "line", "folded")
	oneWay := w["bidirectional"] == false
	if v, given := w["bidirectional"]; given && v != true && v != false {
		c.rejectf("workload.bidirectional", "is %s; write true or false", schema.Describe(v))
	}
	delete(w, "bidirectional")
	delete(w, "payload") // it never had an effect on rings

	// Set the workload. instead lists the lines that replace the deprecated keys.
	w["kind"] = kind
	instead := []string{fmt.Sprintf("write workload.kind = %q", kind)}
	dims, given := w["ring_dims"]
	if given && !oneRing {
		delete(w, "ring_dims")
		instead = append(instead, set(w, "workload.call_dims", "ring_dims", dims))
	}

	// Choose the algorithm and the order of ranks on its rings. On one ring, they form a
	// Hamiltonian cycle. Along one dimension, rings follow its links or lines. Along several
	// dimensions, the bucket algorithm uses the rings of one after the other.
	list, _ := dims.([]any)
	algorithm := "bidirectional-ring"
	if oneWay {
		algorithm = "ring"
	}
	order := map[string]string{"line": collective.RankOrder, "folded": collective.FoldedOrder}[form]
	switch {
	case oneRing:
		order = collective.HamiltonianOrder
	case len(list) == 1:
		if order == "" {
			instead = append(instead, set(w, "workload.grouping", "ring_form", "links"))
		}
	default:
		algorithm = "bucket"
		if form == "" && (fabric["twist"] != nil || fabric["shift"] != nil) {
			order = collective.RankOrder
		}
	}

	// An algorithm that the file names itself takes precedence.
	if policy["collective"] == nil && policy["collectives"] == nil {
		instead = append(instead, set(policy, "policy.collective", "kind", algorithm))
		if order != "" {
			instead = append(instead, set(policy, "policy.ring_order", "ring_form", order))
		}
		if oneWay && algorithm == "bucket" {
			instead = append(instead, set(policy, "policy.one_way", "bidirectional", true))
		}
	}

	// Remove keys of other kinds, which the file has for runs with another workload.
	plain := &Scenario{}
	traffic := schema.New(plain.tagNames(forOneJob), trafficParts(plain)...).Table("workload")
	call := formSchema(plain, forOneJob, findKind("workload", kind).forms[0]).Table("workload")
	for key := range w {
		if traffic.Find(key) != nil &&
			call.Find(key) == nil &&
			c.IsSwitchedOff("workload."+key, "workload.kind") {
			delete(w, key)
		}
	}

	// The defaults of the deprecated workloads differ from the defaults of calls.
	if w["message"] == nil {
		set(w, "workload.message", "message", "64KB")
	}
	if w["packet"] == nil && fileLevel(c.Root, linkCarrier) == "packet" && fileKind(c.Root, "fabric").hasCoordinates {
		set(w, "workload.packet", "packet", "1KB")
	}
	c.s.Deprecated = append(
		c.s.Deprecated,
		c.Diagnose("workload.kind", schema.Quote(old)+" is deprecated", strings.Join(instead, ", ")),
	)
}
