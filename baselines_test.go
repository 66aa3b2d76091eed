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
	long   = flag.Bool("long", false, "also compare studies with stored results, which takes minutes")
	update = flag.Bool("update", false, "store the results")
)

const (
	baselinesDir = "scenarios/baselines"
	modelFile    = baselinesDir + "/model" // version of the models that computed the results
)

// unstored are scenarios and studies without stored results, because they take a minute or
// more. Other scenarios cover their parts.
var unstored = []string{"pod4096.toml", "twist-search.toml", "latency-load.toml",
	"tpuv4-table3.toml", "step-slowdown.toml", "fluid.toml",
	"collectives.toml", "table3-predicted.toml", "fig11.toml", "fig12.toml", "fig13b-512.toml",
	"fig14.toml", "relabelling.toml", "moe-delays.toml", "moe-hidden.toml"}

// TestBaselines compares the results of the built-in scenarios, and with -long of the studies,
// with the stored ones. If a result changes, the version of the models must increase. make
// baselines stores the results.
func TestBaselines(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every scenario")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("baselines were computed on amd64; other processors may round differently")
	}
	text, err := os.ReadFile(modelFile)
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	stored, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if stored != result.Model && !*update {
		t.Fatalf("%s has results of version %d of the models, want version %d; run make baselines",
			baselinesDir, stored, result.Model)
	}
	t.Cleanup(func() { // after all parallel subtests
		if *update && !t.Failed() {
			if err := os.WriteFile(modelFile, fmt.Appendln(nil, result.Model), 0o666); err != nil {
				t.Error(err)
			}
		}
	})

	want := map[string]bool{filepath.Base(modelFile): true}
	for _, name := range append(scenarios.EmbeddedScenarios(), scenarios.EmbeddedStudies()...) {
		if slices.Contains(unstored, filepath.Base(name)) {
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
				t.Parallel() // a study uses all processors
			}
			got, details, err := benchmarks(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if details != nil {
				compareDetails(t, details, strings.TrimSuffix(file, ".bench"))
			}
			path := filepath.Join(baselinesDir, file)
			old, err := os.ReadFile(path)
			switch {
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				t.Fatal(err)
			case err == nil && bytes.Equal(old, got):
			case err == nil && stored == result.Model && changesResult(old, got):
				t.Errorf("results of %s changed, but not result.Model; increase it, because "+
					"sweeps reuse cells of the same version, then run make baselines (-want "+
					"+got)\n%s",
					name,
					cmp.Diff(strings.Split(string(old), "\n"), strings.Split(string(got), "\n")))
			case *update:
				if err := os.WriteFile(path, got, 0o666); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s differs from the results of %s; run make baselines", path, name)
			}
		})
	}

	entries, err := os.ReadDir(baselinesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !want[e.Name()] {
			t.Errorf("%s/%s belongs to no scenario; remove it", baselinesDir, e.Name())
		}
	}
}

// compareDetails compares the digests of a scenario's details with the stored ones. Details may
// change without a new version of the models, because no stored cell depends on them.
func compareDetails(t *testing.T, got []byte, name string) {
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
		t.Errorf("details of %s changed; if the change is intended, run make baselines (-want "+
			"+got)\n%s",
			name, cmp.Diff(strings.Split(string(old), "\n"), strings.Split(string(got), "\n")))
	}
}

// changesResult reports whether a value of old is missing or different in now. A new row or
// metric changes no result.
func changesResult(old, now []byte) bool {
	current := storedValues(now)
	for value := range storedValues(old) {
		if !current[value] {
			return true
		}
	}
	return false
}

// storedValues returns the values of benchmark lines, each as "name value unit".
func storedValues(text []byte) map[string]bool {
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

// benchmarks runs a scenario or a study and returns its metrics as benchmark lines. For a
// scenario it also checks the conservation of its details and returns their digests.
//
// A scenario runs with one goroutine. With -long and with -update it also runs with two, and
// both results must be equal. A study uses one goroutine per processor.
func benchmarks(ctx context.Context, name string) (bench, details []byte, err error) {
	if !scenarios.IsStudy(name) {
		var last []byte
		for workers := 1; workers <= 2; workers++ {
			if workers == 2 && !*long && !*update {
				break
			}
			o, text, err := runScenario(ctx, name, workers)
			if err == nil {
				err = checkConservation(&o.Document, &o.Detail)
			}
			if err != nil {
				return nil, nil, err
			}
			digests, err := digestsOf(&o.Detail)
			if err != nil {
				return nil, nil, err
			}
			if last != nil && !bytes.Equal(last, text) {
				return nil, nil, fmt.Errorf("the number of goroutines changes the result:\n%s",
					cmp.Diff(strings.Split(string(last), "\n"), strings.Split(string(text), "\n")))
			}
			if details != nil && !bytes.Equal(details, digests) {
				return nil, nil, fmt.Errorf("the number of goroutines changes the details:\n%s",
					cmp.Diff(strings.Split(string(details), "\n"),
						strings.Split(string(digests), "\n")))
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
	err = study.LocalRunner(runtime.GOMAXPROCS(0))(ctx, plan, indices(len(doc.Cells)), func(i int, r *study.Record) error {
		if r.Failed != "" {
			return errors.New(r.Failed)
		}
		doc.Cells[i].Metrics = r.Metrics
		return nil
	})

	return doc.Bench(), nil, err
}

// runScenario runs a built-in scenario and returns its outcome and its result.json.
func runScenario(ctx context.Context, name string, workers int) (*scenarios.Outcome, []byte, error) {
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

// indices returns 0 to n-1.
func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
