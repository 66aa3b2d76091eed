// Reproduction runs the evaluation of the DELTA paper with the sim command and
// prints its tables as Markdown:
//
//	go run ./docs/reproduction            prints them
//	go run ./docs/reproduction -w FILE    puts them between the marks of FILE
//
// Run it in the root of the repository. It needs Go alone and writes nothing
// else outside a temporary directory. What it prints beside the paper's figures
// is what the runs say; docs/reproduction.md discusses it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// tables are what is printed, by the name of their marks.
var tables = []struct {
	name string
	make func(*runner) string
}{
	{"workloads", workloads},
	{"gaps", gaps},
	{"bandwidths", func(r *runner) string { return sweep(r, bandwidths) }},
	{"sequences", func(r *runner) string { return sweep(r, sequences) }},
	{"reductions", reductions},
	{"proofs", proofs},
	{"peaks", peaks},
	{"rates", rates},
	{"ports", ports},
	{"donors", donors},
	{"donations", donations},
	{"times", times},
}

func main() {
	file := flag.String("w", "", "put the tables between the marks of `FILE`")
	flag.Parse()
	dir, err := os.MkdirTemp("", "sim-reproduction-")
	fail(err)
	cleanup = func() { os.RemoveAll(dir) }
	r := &runner{sim: filepath.Join(dir, "sim"), dir: dir, done: map[string]*study{}}
	build := exec.Command("go", "build", "-o", r.sim, ".")
	build.Stderr = os.Stderr
	fail(build.Run())
	var text []byte
	if *file != "" {
		text, err = os.ReadFile(*file)
		fail(err)
	}
	for _, t := range tables {
		if *file == "" {
			fmt.Printf("%s\n\n%s\n", t.name, t.make(r))
			continue
		}
		text, err = between(text, t.name, t.make(r))
		fail(err)
	}
	if *file != "" {
		fail(os.WriteFile(*file, text, 0o666))
	}
	cleanup()
}

// between replaces what stands between the marks of a table.
func between(text []byte, name, table string) ([]byte, error) {
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- end -->")
	before, rest, ok := bytes.Cut(text, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("no marks <!-- %s --> and <!-- end -->", name)
	}
	return bytes.Join([][]byte{before, begin, []byte(table), end, after}, nil), nil
}

var cleanup = func() {}

func fail(err error) {
	if err == nil {
		return
	}
	cleanup()
	fmt.Fprintln(os.Stderr, "reproduction:", err)
	os.Exit(1)
}
