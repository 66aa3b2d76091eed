package result

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
)

// TestReadCorrupt damages a byte range of one file at a time: Read fails with a clear
// error or returns a valid run, and does not panic.
func TestReadCorrupt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	keep(t, dir, sample())
	files := []string{ManifestFile, ResultFile, TimingsFile, DetailFile, ScenarioFile}
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(dir, rapid.SampledFrom(files).Draw(rt, "file"))
		whole, err := os.ReadFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		defer os.WriteFile(path, whole, 0o666)
		from := rapid.IntRange(0, len(whole)).Draw(rt, "from")
		to := rapid.IntRange(from, min(len(whole), from+20)).Draw(rt, "to")
		put := rapid.SliceOfN(rapid.SampledFrom([]byte(`0123456789-e.{}[]",:naulltruefs`)), 0, 20).Draw(rt, "put")
		spoilt := append(append(append([]byte(nil), whole[:from]...), put...), whole[to:]...)
		if rapid.Bool().Draw(rt, "cut") {
			spoilt = spoilt[:from]
		}
		if err := os.WriteFile(path, spoilt, 0o666); err != nil {
			rt.Fatal(err)
		}
		readable(rt, dir)
	})
}

// readable fails unless Read returns a valid run or a clear error.
func readable(t interface{ Errorf(string, ...any) }, dir string) {
	r, err := Read(dir)
	var place *PlaceError
	switch {
	case err != nil && !errors.As(err, &place):
		t.Errorf("Read returned %T: %v", err, err)
	case err == nil && (r.Document.Check() != nil || r.Detail.Check() != nil):
		t.Errorf("Read returned a run that is not sound")
	case err == nil:
		for i := range r.Detail.Policies {
			r.Detail.Policies[i].Shares()
			r.Detail.Policies[i].ByLink()
		}
	}
}

// FuzzRead reads arbitrary bytes as each file of a run.
func FuzzRead(f *testing.F) {
	f.Add(uint8(0), []byte(`{"schema": "sim.run/1"}`))
	f.Add(uint8(1), []byte(`{"schema": "sim.result/1", "rows": [{"policy": "a", "metrics": {"nct": 1e999}}]}`))
	f.Add(uint8(2), []byte(`{"policies": [{"topology": {"pairs": [{"a": -1}]}}]}`))
	f.Add(uint8(3), []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		dir := filepath.Join(t.TempDir(), "run")
		keep(t, dir, sample())
		name := []string{ManifestFile, ResultFile, DetailFile, DetailGzip, TimingsFile}[which%5]
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
		readable(t, dir)
	})
}
