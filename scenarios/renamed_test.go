package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sim/internal/alias"
	"sim/scenarios/schema"
)

// renamedScenarios are scenarios whose resolved text has the keys of alias.Keys that the
// effectScenarios lack.
var renamedScenarios = []string{
	"base=\"gpt7b\"\n[policy]\nallocators=[\"prop-alloc\"]\nlender_allocator=\"delta-fast\"\n",
	"base=\"gpt7b\"\n[policy]\nallocators=[\"prop-alloc\"]\n[trials]\ncount=3\ncompute_jitter=0.1\nlost_circuits=1\nreaction=\"redecide\"\n",
	"[fabric]\nkind=\"scaleup\"\ngpus=4\nswitches=2\nlink_rate=\"400Gbps\"\nreconfiguration_delay=\"5us\"\npredicted_calls=\"all\"\n[workload]\nkind=\"training\"\nsequence=256\nmicrobatches=3\npp=4\ntp=1\nep=4\ngpus=32\n[workload.architecture]\nlayers=8\nhidden=256\nheads=4\nffn=512\nvocab=1024\neffective_tflops=10\nexperts=8\ntop_k=2\n",
	"[fabric]\nkind=\"graph\"\nlink_rate=\"1Gbps\"\nedges=[[0,2],[1,2],[2,0],[2,1]]\nswitches.first_node=2\n[workload]\nkind=\"all-to-all\"\nmessage=\"4KB\"\n[engine]\nlevel=\"static\"\n",
	smallJobs + "[policy]\nmulti_job_allocators=[\"even-split\"]\nallocator=\"delta-fast\"\n",
	"[fabric]\nkind=\"torus\"\ndims=[4,4,4]\nfailed_ocs=[\"x3\"]\nfailure_time=\"1us\"\n[workload]\nkind=\"all-to-all\"\nmessage=\"4KB\"\n[policy]\nrouters=[\"shortest\",\"wild-first\",\"multipath\"]\n[engine]\nlevel=\"packet\"\n",
	"[fabric]\nkind=\"torus\"\ndims=[4,4]\n[workload]\nkind=\"all-reduce\"\nmessage=\"1MB\"\ncall_dims=[\"x\"]\n[policy]\ncollective=\"ring\"\n[engine]\nlevel=\"flow\"\n",
	"[fabric]\nkind=\"torus\"\ndims=[4,4]\n[workload]\nkind=\"matrix\"\nsparse_matrix=[[0,1,1000]]\n[engine]\nlevel=\"static\"\n",
	"[fabric]\nkind=\"pods-of-cubes\"\n[workload]\nkind=\"fleet\"\ndays=3\nwarm_up=1\narrivals=\"poisson\"\n[policy]\nplacements=[\"reconfigurable\"]\n[policy.fault]\nocs=\"route\"\nslowdown=\"constant\"\n",
}

// renamedKey is a deprecated key in the resolved text of a scenario that has its current name.
type renamedKey struct {
	old, current string // paths
	text         string // resolved scenario
	isTable      bool
	value        string // value of a key, in TOML
	start, end   int    // place of the last part of the current name in text
}

// renamedKeys returns the deprecated keys of scenarios, each with a scenario that uses it.
func renamedKeys(t *testing.T) (keys []renamedKey) {
	texts := slices.Clone(renamedScenarios)
	for _, c := range effectScenarios {
		texts = append(texts, c.text)
	}
	for i, text := range texts {
		s, err := Parse("new.toml", []byte(text), nil)
		if err != nil {
			t.Fatalf("scenario %d: %v", i, err)
		}
		texts[i] = string(s.TOML())
	}
	for _, r := range alias.Keys {
		parent, last := schema.CutLast(r.Old)
		if parent == "plot" {
			continue // see TestRenamedPlotKeys
		}
		k := renamedKey{old: r.Old, current: strings.TrimPrefix(parent+"."+r.New, ".")}
		header := regexp.MustCompile(`(?m)^\[` + regexp.QuoteMeta(k.current) + `\]$`)
		line := regexp.MustCompile(`(?m)^\[` + regexp.QuoteMeta(parent) + `\]\n(?:[^\[\n].*\n)*?(` + r.New + `) = (.*)$`)
		for _, text := range texts {
			if at := line.FindStringSubmatchIndex(text); at != nil {
				k.text, k.start, k.end, k.value = text, at[2], at[3], text[at[4]:at[5]]
				break
			}
			if at := header.FindStringIndex(text); at != nil && parent == "" {
				k.text, k.start, k.end, k.isTable = text, at[0]+1, at[1]-1, true
				break
			}
		}
		if k.text == "" {
			t.Errorf("no scenario has the key %s, the current name of %s", k.current, last)
			continue
		}
		keys = append(keys, k)
	}
	return keys
}

// withOld returns the text of k with the deprecated key.
func (k *renamedKey) withOld() string {
	_, last := schema.CutLast(k.old)
	return k.text[:k.start] + last + k.text[k.end:]
}

// checkRenamed holds that a scenario equals the one with the current name, and has one warning.
func (k *renamedKey) checkRenamed(t *testing.T, where string, s *Scenario, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s %s: %v", where, k.old, err)
		return
	}
	if got := string(s.TOML()); got != k.text {
		t.Errorf("%s %s (-current +deprecated):\n%s", where, k.old, cmp.Diff(k.text, got))
	}
	var warnings []string
	for _, d := range s.Deprecated {
		warnings = append(warnings, d.String())
	}
	if want := ": " + k.old + ": is deprecated; write " + k.current; len(warnings) != 1 || !strings.HasSuffix(warnings[0], want) {
		t.Errorf("%s %s: got the warnings %q, want one that ends in %q", where, k.old, warnings, want)
	}
}

// TestRenamedKeys: each deprecated key means the same as its current name in a file, in a base, in
// an override and as an axis of a sweep, and causes one warning that names the current name. Results
// are byte-identical. A file, an override or a sweep with both names is rejected with one line.
func TestRenamedKeys(t *testing.T) {
	for _, k := range renamedKeys(t) {
		old, err := Parse("old.toml", []byte(k.withOld()), nil)
		k.checkRenamed(t, "file with", old, err)
		if err == nil && (old.Deprecated[0].Line == 0 || old.Deprecated[0].File != "old.toml") {
			t.Errorf("%s: the warning is at %s:%d", k.old, old.Deprecated[0].File, old.Deprecated[0].Line)
		}
		if got, want := outcomeOf(k.withOld()), outcomeOf(k.text); got != want || got == "" || strings.HasPrefix(got, "error") {
			t.Errorf("%s: the result differs, or there is none: %.200s", k.old, got)
		}
		base := filepath.Join(t.TempDir(), "below.toml")
		if err := os.WriteFile(base, []byte(k.withOld()), 0o666); err != nil {
			t.Fatal(err)
		}
		above, err := Parse("new.toml", fmt.Appendf(nil, "base = %q\n", base), nil)
		k.checkRenamed(t, "base with", above, err)
		if k.isTable {
			continue
		}
		set := k.old + "=" + k.value
		overridden, err := Parse("new.toml", []byte(k.text), []string{set})
		k.checkRenamed(t, "override of", overridden, err)

		sweep := fmt.Sprintf("\n[sweep]\n%q = [%s]\n", k.old, k.value)
		st, err := ParseStudy("sweep.toml", []byte(k.text+sweep), nil)
		if err != nil {
			t.Errorf("sweep of %s: %v", k.old, err)
			continue
		}
		variant, err := st.Variant(0)
		k.checkRenamed(t, "sweep of", variant, err)
		if !slices.Equal(st.Axes[0].Keys, []string{k.current}) || st.Axes[0].Name != k.current {
			t.Errorf("sweep of %s has the axis %+v", k.old, st.Axes[0])
		}
	}
}

// TestBothNames: a file, overrides or a sweep with the deprecated and the current name of a key are
// rejected with one line that names both.
func TestBothNames(t *testing.T) {
	for _, k := range renamedKeys(t) {
		_, last := schema.CutLast(k.old)
		check := func(where string, err error) {
			t.Helper()
			if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), "is given by its deprecated and by its current name; write only "+k.current) ||
				!strings.Contains(err.Error(), k.old) && !strings.Contains(err.Error(), k.current+": ") {
				t.Errorf("%s with %s and %s: got %v", where, k.old, k.current, err)
			}
		}
		if k.isTable {
			_, err := Parse("both.toml", []byte(k.text+"\n["+last+"]\n"), nil)
			check("file", err)
			continue
		}
		line := k.start + len(k.text[k.start:]) - len(strings.TrimLeft(k.text[k.start:], " "))
		_, err := Parse("both.toml", []byte(k.text[:line]+last+" = "+k.value+"\n"+k.text[line:]), nil)
		check("file", err)
		for _, sets := range [][]string{{k.old + "=" + k.value, k.current + "=" + k.value}, {k.current + "=" + k.value, k.old + "=" + k.value}} {
			_, err = Parse("new.toml", []byte(k.text), sets)
			check("overrides", err)
			_, err = ParseStudy("new.toml", []byte(k.text), sets)
			check("overrides of a sweep", err)
		}
		_, err = ParseStudy("sweep.toml", fmt.Appendf(nil, "%s\n[sweep]\n%q = [%s]\n%q = [%s]\n", k.text, k.old, k.value, k.current, k.value), nil)
		check("sweep", err)
	}
}

// TestOverrideOfOtherName: an override by one name replaces the value that a file gives by the
// other, and so does a file for its base.
func TestOverrideOfOtherName(t *testing.T) {
	for _, c := range []struct{ text, set string }{
		{"base=\"gpt7b\"\n[replay]\nseeds=7\ncompute_jitter=0.1\n", "trials.count=3"},
		{"base=\"gpt7b\"\n[trials]\ncount=7\ncompute_jitter=0.1\n", "replay.seeds=3"},
		{"base=\"gpt7b\"\n[trials]\ncompute_jitter=0.1\n", "replay={seeds=3, compute_jitter=0.1}"},
	} {
		s, err := Parse("x.toml", []byte(c.text), []string{c.set})
		if err != nil || s.Trials.Count != 3 {
			t.Errorf("%q with %s: %v", c.text, c.set, err)
		}
	}
	base := filepath.Join(t.TempDir(), "below.toml")
	if err := os.WriteFile(base, []byte("base=\"gpt7b\"\n[replay]\nseeds=7\ncompute_jitter=0.1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if s, err := Parse("x.toml", fmt.Appendf(nil, "base=%q\n[trials]\ncount=3\n", base), nil); err != nil || s.Trials.Count != 3 || s.Trials.ComputeJitter != 0.1 {
		t.Errorf("count above seeds: %v", err)
	}
}

// TestNestedRenames: deprecated keys in tiers and in tables that a sweep varies get their current
// names.
func TestNestedRenames(t *testing.T) {
	c, faults := parse("tiers.toml", []byte("[fabric]\nkind=\"tiers\"\n[[fabric.tier]]\nkind=\"scaleup\"\nknown_ahead=\"all\"\n[[job]]\nname=\"a\"\n[job.workload]\nalong=[\"x\"]\n"), nil, &fileSet{})
	if faults != nil {
		t.Fatal(faults)
	}
	if tier := schema.Rows(schema.Child(c.Root, "fabric")["tier"])[0]; tier["predicted_calls"] != "all" {
		t.Errorf("the tier is %v", tier)
	}
	if job := schema.Child(schema.Rows(c.Root["job"])[0], "workload"); job["call_dims"] == nil {
		t.Errorf("the job's work is %v", job)
	}
	const text = "[fabric]\nkind=\"torus\"\ndims=[4]\n[workload]\nkind=\"all-to-all\"\n[engine]\nlevel=\"static\"\n[sweep]\npolicy=[{routers=[\"multipath\"], multipath={ways=3}}]\n"
	st, err := ParseStudy("x.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.Variant(0)
	if err != nil || s.Policy.Multipath.Routes != 3 || len(s.Deprecated) != 1 {
		t.Errorf("got %v, warnings %v", err, s.Deprecated)
	}
}

// TestRenamedPlotKeys: a study with deprecated keys, metrics and axes in [[plot]] has the same
// figures as one with current names, and one warning for each name.
func TestRenamedPlotKeys(t *testing.T) {
	values := map[string]string{"also": `["walks"]`, "below": `"replay_nct_mean"`, "below_of": `["a"]`, "marked_at": `"nct_before"`, "from": "0.5", "to": "2.0", "take": `"max"`}
	current, old := strings.Builder{}, strings.Builder{}
	names := 0
	for _, r := range alias.Keys {
		if parent, last := schema.CutLast(r.Old); parent == "plot" {
			names++
			if values[last] == "" {
				t.Errorf("no value of %s", r.Old)
			}
			fmt.Fprintf(&old, "%s = %s\n", last, values[last])
			fmt.Fprintf(&current, "%s = %s\n", r.New, strings.NewReplacer("walks", "paths", "replay_nct", "trial_nct", "nct_before", "baseline_nct").Replace(values[last]))
		}
	}
	study := func(x, y, key, plots string) string {
		return fmt.Sprintf("base=\"gpt7b\"\n[sweep]\n%q = [0, 0.5]\n[[plot]]\nname=\"p\"\nkind=\"lines\"\nx = %q\ny = %q\nwhere = {%q = [0.5]}\n%s", key, x, y, key, plots)
	}
	want, err := ParseStudy("s.toml", []byte(study("policy.lender_tolerance", "lender_nct/play_s", "policy.lender_tolerance", current.String())), []string{"policy.lender_allocator=delta-fast"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseStudy("s.toml", []byte(study("policy.donor_tolerance", "donor_nct/play_s", "policy.donor_tolerance", old.String())), []string{"policy.donor=delta-fast"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Plots, got.Plots); diff != "" || got.Plots[0].Y != "lender_nct/simulation_s" || got.Plots[0].Where["policy.lender_tolerance"] == nil {
		t.Errorf("the figures differ, or have deprecated names: %+v\n%s", got.Plots, diff)
	}
	s, err := got.Variant(0)
	if err != nil || len(s.Deprecated) != names+6 { // the axis, an override and four metrics
		t.Errorf("got %v, %d warnings:\n%v", err, len(s.Deprecated), s.Deprecated)
	}
	file := filepath.Join(t.TempDir(), "s.toml")
	if err := os.WriteFile(file, []byte(study("policy.donor_tolerance", "nct", "policy.donor_tolerance", old.String())), 0o666); err != nil {
		t.Fatal(err)
	}
	if plots, deprecated, err := Plots(file); err != nil || len(plots) != 1 || len(deprecated) != names+4 {
		t.Errorf("got %v, warnings %v", err, deprecated)
	}
}
