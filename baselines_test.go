package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sim/scenarios"
	"sim/scenarios/result"
	"sim/scenarios/study"
)

var (
	long   = flag.Bool("long", false, "hold studies to what is stored, too, which takes minutes")
	update = flag.Bool("update", false, "store the results anew")
)

const (
	baselinesDir = "scenarios/baselines"
	modelFile    = baselinesDir + "/model"
)

// slow are the scenarios and studies that take a minute or more, of which nothing is stored: what they are made of is
// in the others.
var slow = []string{"pod4096.toml", "twist-search.toml", "latency-load.toml", "tpuv4-table3.toml", "step-slowdown.toml", "fluid.toml",
	"collectives.toml", "table3-predicted.toml", "fig11.toml", "fig12.toml", "fig13b-512.toml", "fig14.toml", "relabelling.toml", "moe-delays.toml", "moe-hidden.toml"}

// TestBaselines holds every result of the shipped scenarios (and, with -long, studies) to what is stored, and the
// version of the models to the results: it must rise when one of them changes. make baselines stores them anew.
func TestBaselines(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every scenario")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("baselines are of amd64; other processors may round otherwise")
	}
	text, err := os.ReadFile(modelFile)
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	stored, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if stored != result.Model && !*update {
		t.Fatalf("%s are of version %d of the models, this is version %d: make baselines", baselinesDir, stored, result.Model)
	}
	t.Cleanup(func() { // when all have run
		if *update && !t.Failed() {
			if err := os.WriteFile(modelFile, fmt.Appendln(nil, result.Model), 0o666); err != nil {
				t.Error(err)
			}
		}
	})
	want := map[string]bool{filepath.Base(modelFile): true}
	for _, name := range append(scenarios.EmbeddedScenarios(), scenarios.EmbeddedStudies()...) {
		if slices.Contains(slow, filepath.Base(name)) {
			continue
		}
		file := strings.TrimSuffix(filepath.Base(name), ".toml") + ".bench"
		want[file] = true
		if !scenarios.IsStudy(name) {
			want[strings.TrimSuffix(file, ".bench")+".detail"] = true
		}
		if scenarios.IsStudy(name) && !*long && !*update {
			continue
		}
		t.Run(file, func(t *testing.T) {
			if !scenarios.IsStudy(name) {
				t.Parallel() // a study takes all processors
			}
			got, details, err := benchmarks(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if details != nil {
				holdDetails(t, details, strings.TrimSuffix(file, ".bench"))
			}
			path := filepath.Join(baselinesDir, file)
			old, err := os.ReadFile(path)
			switch {
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				t.Fatal(err)
			case err == nil && bytes.Equal(old, got):
			case err == nil && stored == result.Model && changes(old, got):
				t.Errorf("results of %s changed, but not result.Model: raise it (cells that sweeps kept are of the old one), then make baselines\n%s",
					name, cmp.Diff(strings.Split(string(old), "\n"), strings.Split(string(got), "\n")))
			case *update:
				if err := os.WriteFile(path, got, 0o666); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s is not that of %s: make baselines", path, name)
			}
		})
	}
	entries, err := os.ReadDir(baselinesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !want[e.Name()] {
			t.Errorf("%s/%s belongs to no scenario", baselinesDir, e.Name())
		}
	}
}

// holdDetails compares the digests of a scenario's details with the stored ones. Details may change
// without a new version of the models, since no stored cell depends on them.
func holdDetails(t *testing.T, got []byte, name string) {
	t.Helper()
	path := filepath.Join(baselinesDir, name+".detail")
	old, err := os.ReadFile(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		t.Fatal(err)
	case err == nil && bytes.Equal(old, got):
	case *update:
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("details of %s changed: look at what changed and, if it should, make baselines\n%s",
			name, cmp.Diff(strings.Split(string(old), "\n"), strings.Split(string(got), "\n")))
	}
}

// changes reports whether some value of old is not in now: a row or a metric that is new changes no result.
func changes(old, now []byte) bool {
	has := facts(now)
	for fact := range facts(old) {
		if !has[fact] {
			return true
		}
	}
	return false
}

// facts are the values of benchmarks with their rows and metrics.
func facts(text []byte) map[string]bool {
	list := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			list[fields[0]+" "+fields[i]+" "+fields[i+1]] = true
		}
	}
	return list
}

// benchmarks runs a scenario or a study and returns its metrics.bench and, of a scenario, the digests of its details,
// whose conservation it checks. What is stored is of two goroutines (or, of a
// study, as many as there are processors); tests take one, with -long both, and want the same bytes.
func benchmarks(ctx context.Context, name string) (bench, details []byte, err error) {
	if !scenarios.IsStudy(name) {
		var last []byte
		for workers := 1; workers <= 2; workers++ {
			if workers == 2 && !*long && !*update {
				break
			}
			o, text, err := document(ctx, name, workers)
			if err == nil {
				err = conserved(&o.Document, &o.Detail)
			}
			if err != nil {
				return nil, nil, err
			}
			digests, err := digestsOf(&o.Detail)
			if err != nil {
				return nil, nil, err
			}
			if last != nil && !bytes.Equal(last, text) {
				return nil, nil, fmt.Errorf("the number of goroutines changes the result:\n%s", cmp.Diff(strings.Split(string(last), "\n"), strings.Split(string(text), "\n")))
			}
			if details != nil && !bytes.Equal(details, digests) {
				return nil, nil, fmt.Errorf("the number of goroutines changes the details:\n%s", cmp.Diff(strings.Split(string(details), "\n"), strings.Split(string(digests), "\n")))
			}
			last, bench, details = text, o.Document.AsSweep().Bench(), digests
		}
		return bench, details, nil
	}
	st, err := scenarios.LoadStudy(name, nil)
	if err != nil {
		return nil, nil, err
	}
	plan, err := study.NewPlan(ctx, st)
	if err != nil {
		return nil, nil, err
	}
	doc := plan.Sweep
	err = study.LocalRunner(runtime.GOMAXPROCS(0))(ctx, plan, all(len(doc.Cells)), func(i int, r *study.Record) error {
		if r.Failed != "" {
			return errors.New(r.Failed)
		}
		doc.Cells[i].Metrics = r.Metrics
		return nil
	})
	return doc.Bench(), nil, err
}

// document runs a scenario, and returns its result.json too.
func document(ctx context.Context, name string, workers int) (*scenarios.Outcome, []byte, error) {
	s, err := scenarios.Load(name, nil)
	if err != nil {
		return nil, nil, err
	}
	o, err := scenarios.Run(ctx, s, scenarios.RunOptions{Workers: workers})
	if err != nil {
		return nil, nil, err
	}
	text, err := o.Document.JSON()
	return o, text, err
}

func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
