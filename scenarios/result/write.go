// This file writes run directories, and verifies the digests of their files.

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
	DetailFile   = "detail.json"    // or DetailGzip if it is large
	DetailGzip   = "detail.json.gz" // compressed detail
	CSVFile      = "metrics.csv"
	BenchFile    = "metrics.bench"
	PlotsDir     = "plots"
)

// maxPlainDetailBytes is the size above which the detail is compressed. Smaller files
// stay readable in an editor.
const maxPlainDetailBytes = 1 << 20

// JSON returns the content of result.json: indented, with members in a fixed order.
func (d *Document) JSON() ([]byte, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	return JSON(d)
}

// JSON returns v as indented JSON; equal values give equal bytes.
func JSON(v any) ([]byte, error) { return marshal(v, "  ") }

// marshal returns v as JSON, indented by indent per level and without escapes for HTML.
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

// Write writes all files of r except the figures and the manifest, which Commit writes.
// result.json contains no wall-clock times. If the detail exceeds the limits of readers,
// Write replaces r.Detail by a sample; its Omitted lists the missing data.
func (d *Dir) Write(r *Run) error {
	if err := r.Detail.Check(); err != nil {
		return err
	}

	// Format all documents before the first file is written, so that an invalid value leaves
	// nothing behind.
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

	// Write the files and compute their digests. Each name must be known to isRunFile, by which
	// readers recognise the files of a run.
	sums := map[string]string{}
	detailName := DetailFile
	if len(detail) > maxPlainDetailBytes {
		detailName, detail = DetailGzip, compress(detail)
	}
	for _, f := range append(slices.Clip(r.Files),
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

// maxFileBytes exceeds the size of every file of a run. A larger file must have been
// changed.
const maxFileBytes = 512 << 20

// VerifySums fails with a *PlaceError if a file of a run has changed: its digest differs
// from the manifest. It checks the named files, or all. Missing files are not reported.
// Runs of older versions have no digests.
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

// compress compresses data with gzip, without a time stamp, so that equal data give equal
// bytes.
func compress(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // fails only on a bad level
	w.Write(data)                                   // a Buffer does not fail
	w.Close()
	return b.Bytes()
}
