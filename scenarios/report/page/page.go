// Package page writes results as a single HTML file for a browser. The file needs no
// network and no other file. Its content security policy allows only its own script and
// style, identified by their hashes.
//
// A page shows a list of Documents: runs, sweeps and comparisons. Write stores them in the
// file as compressed JSON, and the views in assets/js show them. The data of a document
// determine its views: the names of policies, metrics and kinds of scenarios occur neither
// here nor in the views. Begin reading with Document, RunDocument and Write.
//
// # The data
//
//	schema      "sim.report/1"
//	version     of sim
//	title       of the page
//	docs        the documents, see type Document
//	metrics     descriptions of the metrics of the documents, keyed by name, see type Metric
//	look        colours of figures, see type Style
//	left_out    one sentence for each omitted part
//
// Simulations of a run are a result.Detail with its JSON names: "lanes" are tracks,
// "lattice" is a torus with its paths in "ways", "pairs" are the paths of all pairs of
// nodes, and "twin" marks circuits to DP peers.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"strings"

	"sim/scenarios/result"
)

// Style has the colours of figures, so that pages and figures look the same.
type Style struct {
	Series []LineStyle `json:"series"` // of policies, in rotation
	Heat   []string    `json:"heat"`   // colour scale from low to high, at equal distances
	Spans  []SpanStyle `json:"spans"`  // kinds of spans in the order of the legend; other kinds are work, in grey
}

// LineStyle is the style of the line of a policy. Colours are in CSS notation.
type LineStyle struct {
	Color  string    `json:"color"`
	Dashes []float64 `json:"dashes"`
}

// SpanStyle is the style of a kind of span. Row is the row of transfers below the work,
// from 1; 0 is work.
type SpanStyle struct {
	Name  string `json:"name"`
	Words string `json:"words"`
	Color string `json:"color"`
	Row   int    `json:"row"`
}

//go:embed assets
var assets embed.FS

// Generator is an element in the head of every page. It identifies pages that may be
// overwritten.
const Generator = `<meta name="generator" content="sim report">`

// MaxBytes is the size limit of a page. Larger pages omit data of simulations: first of
// other policies than the best, then the largest parts.
const MaxBytes = 5 << 20

// Write writes a page of documents. Equal documents give equal bytes.
func Write(w io.Writer, docs []Document, look Style) error {
	script, err := concatenate("assets/uplot.min.js", "assets/js")
	if err != nil {
		return err
	}
	style, err := concatenate("assets/uplot.min.css", "assets/style.css", "assets/pictures.css")
	if err != nil {
		return err
	}
	frame, err := assets.ReadFile("assets/page.html")
	if err != nil {
		return err
	}
	license, err := assets.ReadFile("assets/uplot.LICENSE")
	if err != nil {
		return err
	}
	capacity := MaxBytes - len(script) - len(style) - len(frame) - len(license)
	docs, left, err := fit(docs, capacity/4*3)
	if err != nil {
		return err
	}
	title := titleOf(docs)
	data, err := compressedJSON(map[string]any{
		"schema": "sim.report/1", "version": result.Version, "title": title, "docs": docs,
		"metrics": metricsOf(docs), "look": look, "left_out": left,
		"relative": unrankedMetrics(runsAsSweep(docs)), // of the runs side by side
	}, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"{{generator}}", Generator,
		"{{policy}}", fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", sourceHash(script), sourceHash(style)),
		"{{title}}", html.EscapeString(title),
		"{{license}}", html.EscapeString(string(license)),
		"{{style}}", string(style),
		"{{data}}", base64.StdEncoding.EncodeToString(data),
		"{{script}}", string(script),
	).WriteString(w, string(frame))
	return err
}

// concatenate concatenates files, and the files of directories sorted by name.
func concatenate(names ...string) ([]byte, error) {
	var b bytes.Buffer
	for _, name := range names {
		err := fs.WalkDir(assets, name, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := assets.ReadFile(path)
			b.Write(text)
			b.WriteByte('\n')
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// sourceHash returns the source expression of a content security policy that allows an
// inline element with this text.
func sourceHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// compressedJSON returns v as gzip-compressed JSON without a time stamp: equal values
// give equal bytes.
func compressedJSON(v any, level int) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// titleOf returns the title of a page.
func titleOf(docs []Document) string {
	var names []string
	for i := range docs {
		names = append(names, docs[i].Name)
	}
	return strings.Join(names, ", ")
}
