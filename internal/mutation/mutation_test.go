// Package mutation makes small changes to the code of the module and reports the changes that
// no test notices (mutation testing).
//
// A mutant is one change of one expression or statement. It is killed if a test of the module
// fails, and survives otherwise. A survivor is either a gap in the tests, or equivalent code,
// or a change of speed or of a message only; a person decides which.
//
// All mutants of a sample are compiled once, through an overlay that leaves the tree
// unchanged. Each function with mutants begins with a switch to its changed copies
// (switch_test.go). A first run of every test records the mutants that it reaches. Each mutant
// is then run with the tests that reach it, beginning with its own package, until one fails. A
// mutant outside functions cannot be switched on in a compiled program. It is compiled by
// itself and run with all tests of the packages that depend on it.
//
// The package has no code for the program; its test is the tool. 300 mutants take two to three
// hours on two cores:
//
//	go test ./internal/mutation -run Survivors -mutants 300 -seed 7 -timeout 24h -v
package mutation

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	number  = flag.Int("mutants", 0, "draw `N` mutants and test them, which takes minutes each")
	seed    = flag.Uint64("seed", 1, "seed of the draw")
	within  = flag.String("within", "", "draw only in packages whose import path begins with this")
	workers = flag.Int("workers", 2, "mutants that are tested at the same time")
	record  = flag.String("record", "", "append outcomes to `FILE`, and skip mutants whose outcome it holds")
)

// root is the module's directory.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// mutant is a change of the source text of one file.
type mutant struct {
	file       string // path of the file
	line       int
	kind       string // the kind of change
	start, end int    // the replaced bytes of the file
	before, by string
	home       *goPackage // package of the file
}

// String describes the position and the change in one line.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %q becomes %q", strings.TrimPrefix(m.file, root+"/"), m.line, m.kind, m.before, m.by)
}

// apply returns the text of the file with the change.
func (m mutant) apply(text []byte) []byte {
	out := append([]byte{}, text[:m.start]...)
	return append(append(out, m.by...), text[m.end:]...)
}

// swapped lists the replacements of operators, indexed by kind of change.
var swapped = map[token.Token]struct {
	kind string
	by   token.Token
}{
	token.LSS: {"boundary", token.LEQ}, token.LEQ: {"boundary", token.LSS}, token.GTR: {"boundary", token.GEQ}, token.GEQ: {"boundary", token.GTR},
	token.EQL: {"negation", token.NEQ}, token.NEQ: {"negation", token.EQL},
	token.LAND: {"logic", token.LOR}, token.LOR: {"logic", token.LAND},
	token.ADD: {"arithmetic", token.SUB}, token.SUB: {"arithmetic", token.ADD}, token.MUL: {"arithmetic", token.QUO}, token.QUO: {"arithmetic", token.MUL},
	token.ADD_ASSIGN: {"arithmetic", token.SUB_ASSIGN}, token.SUB_ASSIGN: {"arithmetic", token.ADD_ASSIGN},
	token.INC: {"arithmetic", token.DEC}, token.DEC: {"arithmetic", token.INC},
}

// mutantsOf returns all mutants of a Go file, ordered by position.
func mutantsOf(path string) ([]mutant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		return nil, err
	}
	var list []mutant
	replace := func(kind string, from, to token.Pos, by string) {
		start, end := files.Position(from).Offset, files.Position(to).Offset
		list = append(list, mutant{file: path, line: files.Position(from).Line, kind: kind, start: start, end: end, before: string(text[start:end]), by: by})
	}
	operator := func(op token.Token, at token.Pos) {
		if s, ok := swapped[op]; ok {
			replace(s.kind, at, at+token.Pos(len(op.String())), s.by.String())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.IMPORT
		case *ast.BinaryExpr:
			if !isText(n.X) && !isText(n.Y) {
				operator(n.Op, n.OpPos)
			}
		case *ast.AssignStmt:
			operator(n.Tok, n.TokPos)
		case *ast.IncDecStmt:
			operator(n.Tok, n.TokPos)
		case *ast.BasicLit:
			if v, err := strconv.Atoi(n.Value); n.Kind == token.INT && err == nil {
				replace("constant", n.Pos(), n.End(), strconv.Itoa(v+1))
			}
		case *ast.IfStmt:
			switch checksError := isErrorCheck(n.Cond); {
			case checksError && n.Else == nil:
				replace("error check", n.Cond.Pos(), n.Cond.End(), "false && "+string(text[files.Position(n.Cond.Pos()).Offset:files.Position(n.Cond.End()).Offset]))
			case !checksError:
				replace("condition", n.Cond.Pos(), n.Cond.End(), "!("+string(text[files.Position(n.Cond.Pos()).Offset:files.Position(n.Cond.End()).Offset])+")")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "min" || f.Name == "max") {
				replace("extremum", f.Pos(), f.End(), map[string]string{"min": "max", "max": "min"}[f.Name])
			}
		case *ast.ExprStmt:
			if _, ok := n.X.(*ast.CallExpr); ok {
				replace("dropped call", n.Pos(), n.End(), "func() {}()")
			}
		}
		return true
	})
	return list, nil
}

// isText reports whether an expression is a string literal.
func isText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}

// isErrorCheck reports whether a condition is err != nil.
func isErrorCheck(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	x, isVar := b.X.(*ast.Ident)
	y, isNil := b.Y.(*ast.Ident)
	return isVar && isNil && x.Name == "err" && y.Name == "nil"
}

// goPackage holds the output of go list for a package.
type goPackage struct {
	ImportPath, Dir, Name              string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	importers                          []string // packages that depend on it, with their tests
}

// packages returns all packages of the module, by import path.
func packages() (map[string]*goPackage, error) {
	cmd := exec.Command("go", "list", "-json", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	all := map[string]*goPackage{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		p := new(goPackage)
		if err := d.Decode(p); err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
	reaches := map[string]map[string]bool{} // packages that an import path depends on
	var visit func(path string) map[string]bool
	visit = func(path string) map[string]bool {
		if reaches[path] != nil {
			return reaches[path]
		}
		set := map[string]bool{}
		reaches[path] = set
		for _, to := range all[path].Imports {
			if all[to] != nil {
				set[to] = true
				for p := range visit(to) {
					set[p] = true
				}
			}
		}
		return set
	}
	for path, p := range all {
		direct := map[string]bool{}
		for _, to := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if all[to] != nil && to != path {
				direct[to] = true
				for q := range visit(to) {
					direct[q] = true
				}
			}
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 || strings.HasSuffix(path, "internal/mutation") {
			continue
		}
		for to := range direct {
			if to != path {
				all[to].importers = append(all[to].importers, path)
			}
		}
	}
	for _, p := range all {
		slices.Sort(p.importers)
	}
	return all, nil
}

// TestSurvivors draws mutants at random and prints the mutants that no test notices.
func TestSurvivors(t *testing.T) {
	if *number == 0 {
		t.Skip("is a tool: -mutants N")
	}
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	known, err := outcomes(*record)
	if err != nil {
		t.Fatal(err)
	}
	list, err := draw(all, *number)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCampaign(t, all, list)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	count := map[string]int{}
	err = each(len(list), func(worker, i int) error {
		m := list[i]
		outcome, ok := known[m.String()]
		if !ok {
			outcome = c.try(worker, i)
		}
		mu.Lock()
		defer mu.Unlock()
		count[strings.Fields(outcome)[0]]++
		if !ok && *record != "" {
			if err := appendLine(*record, m.String()+"\t"+outcome); err != nil {
				t.Error(err)
			}
		}
		if strings.HasPrefix(outcome, "survived") {
			t.Log(m, outcome)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d killed, %d survived", count["killed"], count["survived"])
}

// draw returns n random mutants that compile, in random order that depends on the seed.
func draw(all map[string]*goPackage, n int) ([]mutant, error) {
	var list []mutant
	for path, p := range all {
		if !strings.HasPrefix(path, *within) || strings.HasSuffix(path, "test") || path == "sim/internal/testseed" {
			continue // helpers of tests
		}
		for _, f := range p.GoFiles {
			ms, err := mutantsOf(filepath.Join(p.Dir, f))
			if err != nil {
				return nil, err
			}
			for i := range ms {
				ms[i].home = p
			}
			list = append(list, ms...)
		}
	}
	slices.SortFunc(list, func(a, b mutant) int { return strings.Compare(a.String(), b.String()) })
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var drawn []mutant
	for len(drawn) < n && len(list) > 0 {
		some := list[:min(len(list), n-len(drawn))]
		list = list[len(some):]
		valid := make([]bool, len(some))
		if err := each(len(some), func(_, i int) error {
			var err error
			valid[i], err = some[i].compiles()
			return err
		}); err != nil {
			return nil, err
		}
		for i, m := range some {
			if valid[i] {
				drawn = append(drawn, m)
			}
		}
	}
	return drawn, nil
}

// compiles reports whether the package of a mutant compiles with it.
func (m mutant) compiles() (bool, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	text, err := os.ReadFile(m.file)
	if err != nil {
		return false, err
	}
	overlay, err := writeOverlay(dir, map[string][]byte{m.file: m.apply(text)})
	if err != nil {
		return false, err
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", os.DevNull, m.home.ImportPath)
	cmd.Dir = root
	return cmd.Run() == nil, nil
}

// writeOverlay writes changed files, indexed by the path of the original, to dir. It returns
// the path of an overlay file for the go command that replaces the originals.
func writeOverlay(dir string, changed map[string][]byte) (string, error) {
	replace := map[string]string{}
	for path, text := range changed {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(to, text, 0o666); err != nil {
			return "", err
		}
		replace[path] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o666)
}

// each calls f for 0 to n-1 on as many goroutines as there are workers, and returns the
// errors.
func each(n int, f func(worker, i int) error) error {
	var next atomic.Int64
	errs := make([]error, n)
	var wg sync.WaitGroup
	for w := range *workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = f(w, i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// outcomes reads a file of outcomes, indexed by mutant.
func outcomes(path string) (map[string]string, error) {
	known := map[string]string{}
	if path == "" {
		return known, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	for line := range strings.Lines(string(text)) {
		if m, outcome, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			known[m] = outcome
		}
	}
	return known, err
}

// appendLine appends a line to a file.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// TestMutantsOf compares the mutants of a small file with a list, by kind.
func TestMutantsOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	const text = `package a

func f(a, b int) (int, error) {
	err := g()
	if err != nil {
		return 0, err
	}
	if a < b && a != 2 {
		a += min(a, b)
	}
	g()
	return a * b, nil
}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	list, err := mutantsOf(path)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range list {
		count[m.kind]++
		if got := string(m.apply([]byte(text))); got == text || !strings.Contains(got, m.by) {
			t.Errorf("%v changes nothing", m)
		}
	}
	want := map[string]int{"error check": 1, "constant": 2, "condition": 1, "logic": 1, "boundary": 1, "negation": 2, "arithmetic": 2, "extremum": 1, "dropped call": 1}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("mutants by kind are %v, want %v", count, want)
	}
}
