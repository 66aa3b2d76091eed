package chart

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// gainRoles looks up the axis that a gain takes one value of, what goes across
// and what the panels are: where the plot does not say, all other axes that vary
// but the seed, so that nothing else is averaged over.
func (v *view) gainRoles() (err error) {
	policies := &v.factors[len(v.sweep.Axes)]
	v.series = policies
	if v.spec.Over != "" {
		if v.over, err = v.find("over", v.spec.Over); err != nil {
			return err
		}
	}
	x, err := v.findAll("x", v.spec.X)
	if err != nil {
		return err
	}
	panels, err := v.findAll("panels", v.spec.Panels)
	if err != nil {
		return err
	}
	var free []*factor
	for i := range v.sweep.Axes {
		f := &v.factors[i]
		if len(f.levels) > 1 && f != v.over && !slices.Contains(x, f) && !slices.Contains(panels, f) && !slices.Equal(v.sweep.Axes[i].Keys, []string{"seed"}) {
			free = append(free, f)
		}
	}
	if v.spec.X == "" && v.spec.Panels != "" {
		x, free = free, nil
	}
	if v.spec.X == "" && len(free) > 0 { // names stand side by side, numbers make panels
		at := max(slices.IndexFunc(free, func(f *factor) bool { return f.numbers == nil }), 0)
		x, free = free[at:at+1:at+1], slices.Delete(slices.Clone(free), at, at+1)
	}
	if v.spec.Panels == "" {
		panels = free
	}
	v.x, v.panels = combination(x), combination(panels)
	return nil
}

// findAll looks up the names in a list with commas.
func (v *view) findAll(role, list string) ([]*factor, error) {
	if list == "" {
		return nil, nil
	}
	var out []*factor
	for _, name := range strings.Split(list, ",") {
		f, err := v.find(role, strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// combination is the factor of all combinations of the drawn levels of others,
// the last varying fastest.
func combination(parts []*factor) *factor {
	switch len(parts) {
	case 0:
		return &none
	case 1:
		return parts[0]
	}
	const most = mostBars + 1 // refused, and none need be listed
	f := &factor{index: math.MaxInt, parts: parts}
	var names, words []string
	labels := []string{""}
	for i, p := range parts {
		names, words = append(names, p.name), append(words, p.words)
		var next []string
		for _, before := range labels {
			for _, l := range p.levels {
				text := sheet.Plain(p.labels[l])
				if i > 0 {
					text = before + ", " + text
				}
				if next = append(next, text); len(next) > most {
					break
				}
			}
		}
		labels = next
	}
	f.name, f.words, f.labels = strings.Join(names, ","), strings.Join(words, ", "), labels
	for i := range labels {
		f.levels, f.slot = append(f.levels, i), append(f.slot, i)
	}
	return f
}

// placeOf is where a cell stands among the combinations of parts, or -1.
func (v *view) placeOf(parts []*factor, c *result.Cell) int {
	at := 0
	for _, p := range parts {
		q := v.place(p, c)
		if q < 0 {
			return -1
		}
		at = at*len(p.levels) + q
	}
	return at
}

// joined words a combination by its parts.
func (f *factor) joined(i int, word func(p *factor, i int) string) string {
	texts := make([]string, len(f.parts))
	for k := len(f.parts) - 1; k >= 0; k-- {
		p := f.parts[k]
		texts[k] = word(p, p.levels[i%len(p.levels)])
		i /= len(p.levels)
	}
	return strings.Join(texts, ", ")
}

// gainOptions fails on options that do not go together in a gain.
func (v *view) gainOptions() error {
	spec := v.spec
	policies := v.series
	all := slices.Concat([]*factor{v.over}, partsOf(v.x), partsOf(v.panels))
	for i, f := range all {
		if f == policies {
			return errors.New("a gain has a bar for each policy in every group: policy can be neither x nor panels nor over")
		}
		if f != &none && slices.Contains(all[:i], f) {
			return fmt.Errorf("%s is named twice: give x, panels and over different axes", f.name)
		}
	}
	switch {
	case spec.Y == "":
		return errors.New("y is missing: name a metric, such as completion_s")
	case result.Better(spec.Y) == "higher":
		return fmt.Errorf("y: of %s more is better; a gain is for metrics of which less is, such as completion_s", spec.Y)
	case spec.Z != "":
		return errors.New("z is for heat maps; a gain shows y")
	case spec.Series != "" && spec.Series != policyName:
		return errors.New("the bars of a gain are policies, so it has no series")
	case spec.LogX:
		return errors.New("bars stand side by side, so log_x means nothing there; lines have it")
	case spec.Offset != 0 || !(spec.Scale >= 0 && spec.Scale <= sheet.DrawableLimit):
		return errors.New("a gain is a ratio, which offset and scales below 0 would change")
	case spec.From != nil && !(math.Abs(*spec.From) <= sheet.DrawableLimit):
		return errors.New("from must be a number that a figure can show")
	case spec.From != nil && *spec.From <= 0 && spec.LogY:
		return fmt.Errorf("from is %g, which a logarithmic axis does not have", *spec.From)
	case spec.Truncate != 0 && !(spec.Truncate >= 1 && spec.Truncate <= sheet.DrawableLimit):
		return fmt.Errorf("truncate is %g; it is a multiple of the policy's highest bar, 1 or more", spec.Truncate)
	case len(policies.labels) == 0:
		return v.limits()
	}
	if err := v.known("policy", spec.Policy); err != nil {
		return err
	}
	for _, a := range spec.Against {
		if err := v.known("against", a); err != nil {
			return err
		}
		if a == spec.Policy {
			return fmt.Errorf("against: %s cannot be compared with itself", a)
		}
	}
	if len(policies.levels) < 2 {
		return fmt.Errorf("policy: there is nothing to compare %s with", spec.Policy)
	}
	return v.limits()
}

// known fails on a policy that the sweep lacks or where leaves out.
func (v *view) known(role, policy string) error {
	at := slices.Index(v.series.labels, policy)
	if at < 0 {
		return unknownName(role, policy, v.series.labels)
	}
	if v.series.slot[at] < 0 {
		return fmt.Errorf("%s: where leaves %s out", role, policy)
	}
	return nil
}

func partsOf(f *factor) []*factor {
	if f.parts != nil {
		return f.parts
	}
	return []*factor{f}
}
