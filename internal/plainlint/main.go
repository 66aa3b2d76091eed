// Command plainlint counts phrases and names that make the project hard to read. It examines
// comments and identifiers of Go files and the text of Markdown files. CONTRIBUTING.md lists
// the words to use instead.
//
//	plainlint [-v] [-baseline FILE [-write]] [DIR]
//
// With a baseline it fails if a directory has more findings than the baseline allows. -write
// lowers the limits of the baseline to the present counts, and never raises one.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	baseline := flag.String("baseline", "", "file with a line \"DIR COUNT\" per directory")
	write := flag.Bool("write", false, "lower the limits of the baseline")
	verbose := flag.Bool("v", false, "print every finding")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	if err := run(os.Stdout, os.DirFS(dir), *baseline, *write, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "plainlint:", err)
		os.Exit(1)
	}
}

// run checks the files of fsys and compares the counts with the baseline file, unless its name
// is empty.
func run(w io.Writer, fsys fs.FS, baseline string, write, verbose bool) error {
	r, err := check(fsys)
	if err != nil {
		return err
	}
	if verbose {
		for _, f := range r.findings {
			fmt.Fprintf(w, "%s:%d: %q: write %s\n", f.file, f.line, f.text, f.instead)
		}
	}
	fmt.Fprintf(w, "%d findings, %d lines of Go, %.1f findings per 1,000 lines\n",
		len(r.findings), r.lines, 1000*float64(len(r.findings))/float64(max(r.lines, 1)))
	if baseline == "" {
		return nil
	}
	limits, err := readLimits(baseline)
	if err != nil {
		return err
	}
	counts := r.byDirectory()
	if write {
		return writeLimits(baseline, limits, counts)
	}
	return exceeded(counts, limits)
}

// A finding is one phrase or name that should be replaced.
type finding struct {
	file    string
	line    int
	text    string // the phrase or identifier
	instead string // what to write instead
}

// A report holds the findings of a file tree, in the order of its files.
type report struct {
	findings []finding
	lines    int // lines of all Go files
}

// byDirectory counts findings per directory.
func (r *report) byDirectory() map[string]int {
	counts := map[string]int{}
	for _, f := range r.findings {
		counts[path.Dir(f.file)]++
	}
	return counts
}

// check examines all Go and Markdown files of fsys, except below testdata and hidden directories.
func check(fsys fs.FS) (*report, error) {
	r := &report{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		switch path.Ext(name) {
		case ".md":
			src, err := fs.ReadFile(fsys, name)
			r.text(name, 1, string(src))
			return err
		case ".go":
			src, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			return r.goFile(name, src)
		}
		return nil
	})
	return r, err
}

// text reports the phrases of a text that starts at the given line.
func (r *report) text(file string, line int, s string) {
	for i, l := range strings.Split(s, "\n") {
		for _, p := range phrases {
			for _, m := range p.pattern.FindAllString(l, -1) {
				r.findings = append(r.findings, finding{file: file, line: line + i, text: m, instead: p.instead})
			}
		}
	}
}

// goFile reports the phrases of comments and the words of declared names.
func (r *report) goFile(name string, src []byte) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	r.lines += bytes.Count(src, []byte("\n"))
	for _, group := range f.Comments {
		for _, c := range group.List {
			r.text(name, files.Position(c.Pos()).Line, c.Text)
		}
	}
	add := func(id *ast.Ident, instead string) {
		line := files.Position(id.Pos()).Line
		r.findings = append(r.findings, finding{file: name, line: line, text: id.Name, instead: instead})
	}
	checkName := func(id *ast.Ident) {
		for _, w := range camelWords.FindAllString(id.Name, -1) {
			if instead := words[strings.ToLower(w)]; instead != "" {
				add(id, instead)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if checkName(n.Name); isParticiple(n.Name.Name) {
				add(n.Name, "a noun")
			}
		case *ast.FuncDecl:
			checkName(n.Name)
		case *ast.Field:
			for _, id := range n.Names {
				checkName(id)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				checkName(id)
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					checkName(id)
				}
			}
		}
		return true
	})
	return nil
}

// exceeded returns an error that lists the directories with more findings than their limit.
func exceeded(counts, limits map[string]int) error {
	var errs []error
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		if counts[dir] > limits[dir] {
			errs = append(errs, fmt.Errorf("%s: %d findings, at most %d are allowed; -v lists them", dir, counts[dir], limits[dir]))
		}
	}
	return errors.Join(errs...)
}

// readLimits reads a baseline. A missing file has no limits, so every finding exceeds it.
func readLimits(file string) (map[string]int, error) {
	src, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	limits := map[string]int{}
	for line := range strings.Lines(string(src)) {
		var dir string
		var n int
		if _, err := fmt.Sscan(line, &dir, &n); err != nil {
			return nil, fmt.Errorf("%s: line %q: want DIR COUNT", file, strings.TrimSpace(line))
		}
		limits[dir] = n
	}
	return limits, err
}

// writeLimits stores the smaller of limit and count for each directory. Without limits it
// stores the counts.
func writeLimits(file string, limits, counts map[string]int) error {
	var b strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		n := counts[dir]
		if limits != nil {
			n = min(n, limits[dir])
		}
		if n > 0 {
			fmt.Fprintln(&b, dir, n)
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
