// Package docs_test checks the tables of reproduction.md, which compare the evaluation of the
// DELTA paper with the results of sim. The results are stored under scenarios/baselines. With
// -long it also runs the scenarios that some tables require. With -update it writes the tables;
// the table of decision times is written only with both flags:
//
//	go test ./docs -long -update
package docs_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var (
	long = flag.Bool("long", false,
		"also check the tables that require runs of scenarios, which takes half a minute")
	update = flag.Bool("update", false, "write the tables")
)

// documentFile is the document with the tables.
const documentFile = "reproduction.md"

// generatedTable is a table of a document that follows from results.
type generatedTable struct {
	name   string // name in the markers around the table
	render func(testing.TB) string
	runs   bool // requires runs in addition to stored results
	timing bool // contains measured times, which differ between runs
}

// tables are the tables of the document.
var tables = []generatedTable{
	{name: "workloads", render: workloadTable, runs: true},
	{name: "gaps", render: gapTable},
	{name: "bandwidths", render: func(t testing.TB) string { return nctTable(t, bandwidths) }},
	{name: "sequences", render: func(t testing.TB) string { return nctTable(t, sequences) }},
	{name: "reductions", render: reductionTable},
	{name: "proofs", render: proofTable},
	{name: "peaks", render: peakTable, runs: true},
	{name: "rates", render: rateTable, runs: true},
	{name: "ports", render: portTable},
	{name: "donors", render: borrowerTable},
	{name: "donations", render: lenderTable},
	{name: "times", render: timeTable, runs: true, timing: true},
}

// TestReproduction checks that the document contains each table with the rows that follow from
// the results.
func TestReproduction(t *testing.T) { checkTables(t, documentFile, tables) }

// checkTables checks the tables of a document, or writes them with -update.
func checkTables(t *testing.T, documentFile string, tables []generatedTable) {
	text, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tables {
		t.Run(x.name, func(t *testing.T) {
			before, table, after, err := splitTable(text, x.name)
			if err != nil {
				t.Fatal(err)
			}
			if x.runs && !*long || x.timing && !*update {
				return
			}
			want := x.render(t)
			if *update {
				text = bytes.Join([][]byte{before, []byte(want), after}, nil)
			} else if string(table) != want {
				t.Errorf("%s: got table\n%s\nwant\n%s", documentFile, table, want)
			}
		})
	}

	if *update && !t.Failed() {
		if err := os.WriteFile(documentFile, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// splitTable splits a text at the markers of a table. The markers belong to the parts before
// and after it.
func splitTable(text []byte, name string) (before, table, after []byte, err error) {
	startMarker, endMarker := []byte("<!-- "+name+" -->\n"), []byte("<!-- end -->")
	start := bytes.Index(text, startMarker)
	if start >= 0 {
		start += len(startMarker)
		if size := bytes.Index(text[start:], endMarker); size >= 0 {
			return text[:start:start], text[start : start+size], text[start+size:], nil
		}
	}
	return nil, nil, nil, fmt.Errorf("no markers <!-- %s --> and <!-- end -->", name)
}

// TestSplitTable checks that splitTable finds the named table, that its parts add up to the
// text, and that unknown names are errors.
func TestSplitTable(t *testing.T) {
	text := "a\n<!-- x -->\nold\n<!-- end -->\nb\n<!-- y -->\nkept\n<!-- end -->\n"
	before, table, after, err := splitTable([]byte(text), "x")
	if got := string(before) + string(table) + string(after); err != nil || got != text ||
		!strings.HasSuffix(string(before), "<!-- x -->\n") || string(table) != "old\n" {
		t.Errorf("got %q, %q, %q and error %v, want the parts of table x", before, table, after, err)
	}
	for _, name := range []string{"z", "old"} {
		if _, _, _, err := splitTable([]byte(text), name); err == nil {
			t.Errorf("got no error for table %s, which does not exist", name)
		}
	}
}
