// This file expands lists of policies named "all": every policy that the scenario accepts.

package scenarios

import (
	"errors"
	"maps"
	"slices"

	"sim/scenarios/schema"
)

// allPolicies is the value of a list of policies that stands for every policy.
const allPolicies = "all"

// isAllPolicies reports whether a decoded value is "all" or ["all"].
func isAllPolicies(v any) bool {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	return v == allPolicies
}

// isPolicyList reports whether the key at path lists policies to compare.
func isPolicyList(path string) bool {
	return slices.ContainsFunc(decisions(), func(d decision) bool { return d.isListed() && path == "policy."+d.policyKey })
}

// isListed reports whether the table of the decision lists all policies. The table of mappings has
// examples only: orders of dimensions, assignments or files.
func (d *decision) isListed() bool { return d.policyKey != "mappings" }

// listAllPolicies replaces each list of policies named "all" by the names of all policies of its
// decision, and returns these keys of [policy]. Lists of overrides named allocators may belong to
// another decision; they are replaced only if redirected is set.
func (c *checker) listAllPolicies(redirected bool) (keys []string) {
	policy := schema.Child(c.Root, "policy")
	for i := range decisions() {
		d := &decisions()[i]
		_, isVaried := c.Varied["policy."+d.policyKey]
		mayMove := d.policyKey == "allocators" && (isVaried || c.Overrides["policy.allocators"])
		if !d.isListed() || !isAllPolicies(policy[d.policyKey]) || mayMove && !redirected {
			continue
		}
		policy[d.policyKey] = slices.DeleteFunc(policyNames(d.rows), func(name any) bool {
			return c.Root["machine"] == nil && algorithmNeedsMachine(name.(string))
		})
		keys = append(keys, d.policyKey)
	}
	return keys
}

// policyNames returns the names of policies as a decoded list.
func policyNames(rows []policyRow) (names []any) {
	for i := range rows {
		names = append(names, rows[i].name)
	}
	return names
}

// leaveOutPolicies removes the policies that the scenario rejects from lists that were named
// "all", and stores the reasons. Policies that cannot serve the fabric remain: their rows hold the
// reason. If the scenario accepts none, the list remains, and the checks report why.
func (c *checker) leaveOutPolicies(keys []string) {
	for _, key := range keys {
		list, _ := schema.Child(c.Root, "policy")[key].([]any)
		if c.tryPolicies(key, list) == nil {
			continue
		}

		// The list as a whole is rejected: try each policy alone.
		var accepted []any
		var leftOut Diagnostics
		for _, name := range list {
			var faults Diagnostics
			if !errors.As(c.tryPolicies(key, []any{name}), &faults) {
				accepted = append(accepted, name)
				continue
			}
			d := c.Diagnose("policy."+key, schema.Quote(allPolicies)+" leaves out "+name.(string), faults[0].Problem)
			if faults[0].Key != d.Key {
				d.Remedy = faults[0].Key + " " + d.Remedy
			}
			if faults[0].Remedy != "" {
				d.Remedy += " (" + faults[0].Remedy + ")"
			}
			leftOut = append(leftOut, d)
		}
		if len(accepted) > 0 {
			schema.Child(c.Root, "policy")[key] = accepted
			c.s.LeftOut = append(c.s.LeftOut, leftOut...)
		}
	}
}

// tryPolicies checks the scenario with a list of policies, and whether their solvers are
// installed. It returns the faults, or nil.
func (c *checker) tryPolicies(key string, list []any) error {
	root := mergeTables(c.Root, nil)
	schema.Child(root, "policy")[key] = list
	trial := newChecker(c.s.Name, root, c.Layers, c.s.files)
	maps.Copy(trial.Overrides, c.Overrides)
	trial.Varied, trial.isCell = maps.Clone(c.Varied), true
	s, err := trial.finish()
	if err != nil {
		return err
	}
	return s.CheckSolvers()
}
