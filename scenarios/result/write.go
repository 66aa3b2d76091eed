package result

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sim/internal/infile"
)

// Files of a run directory.
const (
	ManifestFile = "manifest.json"
	ScenarioFile = "scenario.toml"
	ResultFile   = "result.json"
	TimingsFile  = "timings.json"
	DetailFile   = "detail.json"    // or, when large,
	DetailGzip   = "detail.json.gz" // the same, compressed
	CSVFile      = "metrics.csv"
	BenchFile    = "metrics.bench"
	PlotsDir     = "plots"
)

// maxPlainDetailBytes is the size in bytes from which the detail is compressed: below it a person may want to open the file,
// above it nobody does.
const maxPlainDetailBytes = 1 << 20

// JSON returns the document as result.json holds it: indented, members in a fixed order, the same bytes for the same
// document.
func (d *Document) JSON() ([]byte, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	return JSON(d)
}

// JSON returns v as the files of run directories hold it: indented, the same bytes for the same value.
func JSON(v any) ([]byte, error) { return marshal(v, "  ") }

func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Write writes every file of r but its figures and its manifest, which Commit writes. Nothing wall-clock reaches
// result.json, even when the document carries timings. If the detail is larger than readers accept, Write replaces
// r.Detail by a copy that is sampled; its Omitted states what is missing.
func (d *Dir) Write(r *Run) error {
	if err := r.Detail.Check(); err != nil {
		return err
	}
	doc := r.Document
	doc.Timings = nil
	result, err := doc.JSON()
	if err != nil {
		return err
	}
	detail, err := r.Detail.fit()
	if err != nil {
		return err
	}
	timings, err := JSON(&r.Timings)
	if err != nil {
		return fmt.Errorf("timings: %w", err)
	}
	sums := map[string]string{}
	detailName := DetailFile
	if len(detail) > maxPlainDetailBytes {
		detailName, detail = DetailGzip, compress(detail)
	}
	for _, f := range append(r.Files[:len(r.Files):len(r.Files)],
		File{ScenarioFile, r.Scenario},
		File{ResultFile, result},
		File{TimingsFile, timings},
		File{detailName, detail},
		File{CSVFile, doc.CSV()},
		File{BenchFile, doc.AsSweep().Bench()},
	) {
		sum := sha256.Sum256(f.Data)
		sums[f.Name] = hex.EncodeToString(sum[:])
		if !isRunFile(f.Name) {
			return fmt.Errorf("%s: %s is no name of a run's file", d.displayPath, f.Name)
		}
		if err := os.WriteFile(filepath.Join(d.tmp, f.Name), f.Data, 0o666); err != nil {
			return fmt.Errorf("%s: cannot write %s: %s", d.displayPath, f.Name, Reason(err))
		}
	}
	m := r.Manifest
	m.Sums = sums
	d.manifest = &m
	return nil
}

// maxFileBytes is more than any file of a run has, in bytes: a larger one was changed.
const maxFileBytes = 512 << 20

// VerifySums fails, with a *PlaceError, if one of the named files of a run, or of all, was changed since the run wrote it: its
// digest is not that of the manifest. Files that
// are missing are told by whoever needs them, and runs of earlier versions have no digests.
func (m *Manifest) VerifySums(dir string, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(m.Sums)) {
		if !isRunFile(name) || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		f, size, err := infile.Open(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		h := sha256.New()
		if size <= maxFileBytes {
			_, err = io.Copy(h, f)
		}
		f.Close()
		if err == nil && hex.EncodeToString(h.Sum(nil)) != m.Sums[name] {
			return &PlaceError{dir, name + " was changed since the run wrote it: its digest is not that of " + ManifestFile + "; run the scenario again"}
		}
	}
	return nil
}

// compress is gzip without a time, so that equal data give equal bytes.
func compress(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // fails only on a bad level
	w.Write(data)                                   // a Buffer does not fail
	w.Close()
	return b.Bytes()
}
