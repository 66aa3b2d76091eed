// Package page writes results as one HTML file that is explored in a browser: no other file, no network, and nothing but
// what the file holds runs in it, which its content security policy says by the hashes of its script and its style.
//
// A page is a list of Documents: runs, sweeps, comparisons. They are put into the file as JSON, compressed, and the views
// of assets/js show them. Which views a document has follows from its data alone: neither policies nor metrics nor kinds
// of scenarios are known by name, here or there.
//
// # The data
//
//	schema      "sim.report/1"
//	version     of sim
//	title       of the page
//	docs        the documents, as type Document has them
//	metrics     by name, type Metric: what is to know of those that the documents have
//	look        type Look: colours, as figures have them
//	left_out    what does not fit, a sentence each
//
// What is kept of a run's simulations is result.Detail, by its JSON names: "lanes" are tracks, "lattice" a torus, its
// "ways" routes, "pairs" the routes of all pairs of nodes, "twin" circuits to DP peers.
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

// Style is how pages look where figures have colours too, so that both have the same.
type Style struct {
	Series []LineStyle `json:"series"` // of policies, in turn
	Heat   []string    `json:"heat"`   // colours from little to much, at equal distances
	Spans  []SpanStyle `json:"spans"`  // kinds of spans in the order of the legend; others are work, in grey
}

// LineStyle is how the line of a policy looks. Colours are as CSS has them.
type LineStyle struct {
	Color  string    `json:"color"`
	Dashes []float64 `json:"dashes"`
}

// SpanStyle is how spans of a kind look. Row counts the rows of thin bars of transfers below the work from 1; 0 is work.
type SpanStyle struct {
	Name  string `json:"name"`
	Words string `json:"words"`
	Color string `json:"color"`
	Row   int    `json:"row"`
}

//go:embed assets
var assets embed.FS

// Generator is what the head of every page says that it was made by, so that others are not overwritten.
const Generator = `<meta name="generator" content="sim report">`

// MaxBytes is the size in bytes that a page is kept within, by leaving out what simulations of other than the best policies
// hold, and then the largest of what is left.
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
	room := MaxBytes - len(script) - len(style) - len(frame) - len(license)
	docs, left, err := fit(docs, room/4*3)
	if err != nil {
		return err
	}
	title := titleOf(docs)
	data, err := compressedJSON(map[string]any{
		"schema": "sim.report/1", "version": result.Version, "title": title, "docs": docs,
		"metrics": metricsOf(docs), "look": look, "left_out": left,
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

// concatenate concatenates files, and those of directories in order of their names.
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

// sourceHash is the source of a content security policy that allows an inline element of this text.
func sourceHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// compressedJSON is v as JSON, compressed at a level of gzip, without a time: equal values give equal bytes.
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

// titleOf names what a page is of.
func titleOf(docs []Document) string {
	var names []string
	for i := range docs {
		names = append(names, docs[i].Name)
	}
	return strings.Join(names, ", ")
}
