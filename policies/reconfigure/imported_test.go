package reconfigure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"sim/policies/reconfigure/circulant"
	"sim/policies/reconfigure/plan"
)

// Imported plans are offered if they are for the problem, and only if the switches allow
// their reconfigurations.
func TestImported(t *testing.T) {
	ctx := context.Background()
	p := unequal(4, 2)
	list, err := newTestSet(t, p, Options{}).Candidates(ctx, "spreadout")
	if err != nil {
		t.Fatal(err)
	}
	importedPlan := sealed(t, &list[0])
	importedPlan.Name = "one"
	otherChunks, otherGPUs, otherDegree := *importedPlan, *importedPlan, *importedPlan
	otherChunks.Chunks = slices.Clone(importedPlan.Chunks)
	otherChunks.Chunks[1]++
	otherGPUs.GPUs++
	otherDegree.Degree++
	s := newTestSet(t, p, Options{})
	s.Options.Plans = append(s.Options.Plans, &otherChunks, importedPlan, &otherGPUs, &otherDegree)
	got, err := s.Candidates(ctx, "imported")
	if err != nil || len(got) != 1 || got[0].Origin != "imported: one" || got[0].Slots != importedPlan.TotalSlots() || got[0].Reconfigurations != len(importedPlan.Topologies) || got[0].Switches != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if built, err := got[0].Build(0, nil); err != nil || built != importedPlan {
		t.Errorf("built is %v, %v", built, err)
	}
	if s.Took("imported") < 0 || s.Took("imported") != 0 || s.Took("nobody") != 0 {
		t.Error("time that was told is told again, or is of nobody")
	}
	s = newTestSet(t, p, Options{})
	s.Options.Plans = append(s.Options.Plans, &otherGPUs)
	if _, err := s.Candidates(ctx, "imported"); !errors.Is(err, ErrUnserved) || !strings.Contains(err.Error(), "none of the 1 imported is of this all-to-all: 4 GPUs of degree 2") {
		t.Errorf("plans of other problems: %v", err)
	}
	if _, err := s.Candidates(ctx, "nobody"); !errors.Is(err, ErrPlanner) {
		t.Errorf("a planner that there is not: %v", err)
	}
	for _, row := range Table {
		if r := ByName(row.Name); r == nil || r.Name != row.Name {
			t.Errorf("%s is found as %v", row.Name, r)
		}
	}
	if r := ByName("nobody"); r != nil {
		t.Errorf("nobody is %v", r)
	}
}

// A plan with independent switches is offered only if switches may reconfigure
// independently, and for delays of at most the slots for which it was made.
func TestImportedSwitches(t *testing.T) {
	ctx := context.Background()
	p := plan.UniformProblem(9, 3, 3)
	const delay = 3
	list, err := circulant.Candidates(p, circulant.Options{Relay: true, Independent: true})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range list {
		c := &list[i]
		if c.Build == nil || c.Switches == nil {
			continue
		}
		builtPlan, err := c.Build(delay, nil)
		if err != nil || builtPlan.Switches == nil {
			continue
		}
		if err := builtPlan.Seal(); err != nil {
			t.Fatal(err)
		}
		found++
		for _, o := range []struct {
			options Options
			offered bool
		}{
			{Options{Independent: true, DelaySlots: int64(builtPlan.DelaySlots)}, true},
			{Options{Independent: true, DelaySlots: int64(builtPlan.DelaySlots) + 1}, false},
			{Options{DelaySlots: int64(builtPlan.DelaySlots)}, false},
		} {
			again := newTestSet(t, p, o.options)
			again.Options.Plans = append(again.Options.Plans, builtPlan)
			got, err := again.Candidates(ctx, "imported")
			if !o.offered {
				if !errors.Is(err, ErrUnserved) || !strings.Contains(err.Error(), "require independent switches") {
					t.Fatalf("%+v: %v, %v", o.options, got, err)
				}
				continue
			}
			if err != nil || len(got) != 1 || len(got[0].Switches) != p.Degree || got[0].DelaySlots != int64(builtPlan.DelaySlots) {
				t.Fatalf("%+v: %+v, %v", o.options, got, err)
			}
			maxReconfigurations := 0
			for j, l := range got[0].Switches {
				maxReconfigurations = max(maxReconfigurations, l.Reconfigurations)
				up := int64(0)
				for k := range builtPlan.Topologies {
					if len(builtPlan.SwitchEdges(k, int32(j))) > 0 {
						up += int64(builtPlan.Slots[k])
					}
				}
				if l.Slots != up {
					t.Errorf("switch %d is up for %d slots, want %d", j, l.Slots, up)
				}
			}
			if got[0].Reconfigurations != maxReconfigurations || maxReconfigurations == 0 {
				t.Errorf("%d reconfigurations, want %d, the most of a switch", got[0].Reconfigurations, maxReconfigurations)
			}
		}
	}
	if found == 0 {
		t.Error("no plan has switches of their own")
	}
}
