package result

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keep writes a run to dir.
func keep(t *testing.T, dir string, r *Run) {
	t.Helper()
	d, err := Create(dir, Claim{r.Manifest.Scenario, r.Manifest.Digest, false})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Abort()
	if err := d.Write(r); err != nil {
		t.Fatal(err)
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "tiny")
	want := sample()
	for range 2 { // the second run replaces the first
		keep(t, dir, want)
		got, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		want.Dir = dir
		want.Manifest.Files = strings.Fields("detail.json metrics.bench metrics.csv result.json scenario.toml timings.json")
		if len(got.Manifest.Sums) != len(want.Manifest.Files) {
			t.Errorf("digests of %d files, want %d", len(got.Manifest.Sums), len(want.Manifest.Files))
		}
		want.Manifest.Sums = got.Manifest.Sums
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read back with a difference (-want +got):\n%s", diff)
		}
		if got := entries(t, filepath.Dir(dir)); got != "tiny" {
			t.Errorf("beside the run lies %q", got)
		}
		if got, want := entries(t, dir), "detail.json manifest.json metrics.bench metrics.csv result.json scenario.toml timings.json"; got != want {
			t.Errorf("the run holds %s, want %s", got, want)
		}
	}
}

// TestLargeDetail: a large detail is compressed, to the same bytes each time.
func TestLargeDetail(t *testing.T) {
	r := sample()
	s := &r.Detail.Policies[0].Demand[0]
	for i := range 200_000 {
		s.TimeS, s.Value = append(s.TimeS, float64(i+2)), append(s.Value, float64(i%7))
	}
	var files [2][]byte
	for i := range files {
		dir := filepath.Join(t.TempDir(), "big")
		keep(t, dir, r)
		files[i], _ = os.ReadFile(filepath.Join(dir, DetailGzip))
		got, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Detail, got.Detail) { // cmp.Diff takes seconds
			t.Error("read back with a difference")
		}
	}
	if len(files[0]) == 0 || string(files[0]) != string(files[1]) {
		t.Errorf("compressed to %d and %d bytes, want the same", len(files[0]), len(files[1]))
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	root := t.TempDir()
	d, err := Create(filepath.Join(root, "a", "b", "run"), Claim{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(sample()); err != nil {
		t.Fatal(err)
	}
	d.Abort()
	d.Abort()
	if got := entries(t, root); got != "" {
		t.Errorf("an aborted run left %q", got)
	}
}

// TestKilled: after a process was killed at any stage of a run, the previous run is
// readable or restored, and a new run is possible.
func TestKilled(t *testing.T) {
	older, newer := sample(), sample()
	claim := Claim{older.Manifest.Scenario, older.Manifest.Digest, false}
	newer.Manifest.Seed = 2
	for _, c := range []struct {
		name string
		kill func(t *testing.T, dir string)
	}{
		{"before it wrote", func(t *testing.T, dir string) { must(t, os.Mkdir(dir+".tmp", 0o777)) }},
		{"while it wrote", func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+".tmp", 0o777))
			must(t, os.WriteFile(filepath.Join(dir+".tmp", unfinishedFile), nil, 0o666))
			must(t, os.WriteFile(filepath.Join(dir+".tmp", ResultFile), []byte("{"), 0o666))
		}},
		{"between the renames", func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+".tmp", 0o777))
			must(t, os.WriteFile(filepath.Join(dir+".tmp", unfinishedFile), nil, 0o666))
			must(t, os.Rename(dir, filepath.Join(dir+".tmp", replacedDir)))
		}},
		{"after the renames", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, unfinishedFile), nil, 0o666))
			must(t, os.Mkdir(filepath.Join(dir, replacedDir), 0o777))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			keep(t, dir, older)
			c.kill(t, dir)
			d, err := Create(dir, claim)
			if err != nil {
				t.Fatal(err)
			}
			d.Abort()
			if got, err := Read(dir); err != nil || got.Manifest.Seed != 1 {
				t.Errorf("the older run is lost: %v", err)
			}
			keep(t, dir, newer)
			if got, err := Read(dir); err != nil || got.Manifest.Seed != 2 {
				t.Errorf("the newer run is not there: %v", err)
			}
			if got := entries(t, filepath.Dir(dir)) + ":" + entries(t, dir); strings.Contains(got, ".tmp") || strings.Contains(got, ":.") {
				t.Errorf("left behind: %s", got)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTwoAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d, err := Create(dir, Claim{})
	must(t, err)
	defer d.Abort()
	_, err = Create(dir, Claim{})
	var place *PlaceError
	if !errors.As(err, &place) || !strings.Contains(err.Error(), "another run is being written there") {
		t.Errorf("a second run at the same place: %v", err)
	}
}

func TestLinkedDirectory(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "real"), 0o777))
	must(t, os.Symlink("real", filepath.Join(root, "link")))
	keep(t, filepath.Join(root, "link"), sample())
	if info, err := os.Lstat(filepath.Join(root, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if _, err := Read(filepath.Join(root, "real")); err != nil {
		t.Error(err)
	}
}

// TestNumbers: NaN and Inf are rejected with the name of the metric.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		corrupt func(r *Run)
		want    string
	}{
		{func(r *Run) { r.Document.Rows[0].Metrics["nct"] = math.NaN() }, "metric nct of prop-alloc is NaN"},
		{func(r *Run) { r.Document.Reference["makespan_s"] = math.Inf(1) }, "metric makespan_s of reference is +Inf"},
		{func(r *Run) { r.Detail.Policies[1].Path[0].LagS = math.Inf(-1) }, "LagS"},
		{func(r *Run) { r.Detail.Windows.LatestS[0] = math.Inf(1) }, "Windows.LatestS[0]"},
		{func(r *Run) { r.Document.Rows[1].Policy = "prop-alloc" }, "two rows of prop-alloc"},
	} {
		r := sample()
		c.corrupt(r)
		d, err := Create(filepath.Join(t.TempDir(), "run"), Claim{})
		must(t, err)
		if err := d.Write(r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Write returned %v, want %q in it", err, c.want)
		}
		d.Abort()
	}
}

func TestLatest(t *testing.T) {
	root := t.TempDir()
	for name, end := range map[string]string{"a": "2026-01-02T03:04:05Z", "b": "2026-01-02T03:04:05.5Z", "c": "2025-01-02T03:04:05Z"} {
		r := sample()
		r.Manifest.End = end
		keep(t, filepath.Join(root, name), r)
	}
	must(t, os.Mkdir(filepath.Join(root, "other"), 0o777))
	if got := filepath.Base(Latest(List(root), "tiny")); got != "b" {
		t.Errorf("the newest run is %s, want b", got)
	}
	if got := Latest(List(root), "unknown"); got != "" {
		t.Errorf("the newest run of an unknown scenario is %s", got)
	}
}

// TestProbe: a directory without write access is rejected, and a writable one remains
// unchanged.
func TestProbe(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err == nil {
		if err := Probe("/proc"); err == nil {
			t.Error("files can be made in /proc")
		}
	}
	dir := t.TempDir()
	if err := Probe(dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("probing leaves %v (%v)", left, err)
	}
}
