package mutation

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// switchFile is the name of the file that is added to each package with mutants. A file
// selects the active mutant, not an environment variable, because tests start the program with
// their own environment. It is found through the directory for temporary files, which programs
// that tests start inherit or use a subdirectory of.
const switchFile = `package %s

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

var (
	mutantReached sync.Map
	mutantDir     string
)

// mutantNumber is the number of the active mutant, 0 if no mutant is active, or -1 to record
// which mutants are reached.
var mutantNumber = func() int {
	for dir := os.TempDir(); ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "mutant.number")); err == nil {
			n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			mutantDir = dir
			return n
		}
		if dir == filepath.Dir(dir) {
			return 0
		}
	}
}()

func mutantReach(n int) {
	if _, ok := mutantReached.LoadOrStore(n, true); ok {
		return
	}
	if f, err := os.OpenFile(filepath.Join(mutantDir, "mutants.reached"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err == nil {
		fmt.Fprintln(f, n)
		f.Close()
	}
}
`

// instrumented returns the text of a file whose functions begin with switches to their
// mutants, and the numbers of the mutants outside functions. mutants are the mutants of the
// file, indexed by number.
func instrumented(path string, mutants map[int]mutant) (out []byte, outside []int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	source := func(n ast.Node) string { return string(text[offset(n.Pos()):offset(n.End())]) }
	var numbers []int
	for n := range mutants {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	inside := map[int]bool{}
	insert := map[int]string{} // by offset
	function := func(typ *ast.FuncType, body *ast.BlockStmt) {
		var here []int
		for _, n := range numbers {
			if m := mutants[n]; offset(body.Pos()) < m.start && m.end < offset(body.End()) {
				here = append(here, n)
				inside[n] = true
			}
		}
		if len(here) == 0 {
			return
		}
		var parameters, arguments []string
		for _, f := range typ.Params.List {
			of := source(f.Type)
			if e, ok := f.Type.(*ast.Ellipsis); ok {
				of = "[]" + source(e.Elt)
			}
			for _, name := range f.Names {
				if name.Name != "_" {
					parameters = append(parameters, name.Name+" "+of)
					arguments = append(arguments, name.Name)
				}
			}
		}
		results := ""
		if typ.Results != nil {
			results = source(typ.Results)
		}
		var b strings.Builder
		b.WriteString("\nif mutantNumber != 0 {\n")
		for _, n := range here {
			m := mutants[n]
			from, to := offset(body.Lbrace), offset(body.Rbrace)+1
			changed := string(text[from:m.start]) + m.by + string(text[m.end:to])
			call := fmt.Sprintf("func(%s) %s %s(%s)", strings.Join(parameters, ", "), results, changed, strings.Join(arguments, ", "))
			if typ.Results != nil && len(typ.Results.List) > 0 {
				call = "return " + call
			} else {
				call += "\nreturn"
			}
			fmt.Fprintf(&b, "if mutantNumber == -1 { mutantReach(%d) } else if mutantNumber == %d {\n%s\n}\n", n, n, call)
		}
		b.WriteString("}\n")
		insert[offset(body.Lbrace)+1] = b.String()
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				function(n.Type, n.Body)
			}
			return false
		case *ast.FuncLit:
			function(n.Type, n.Body)
			return false
		}
		return true
	})
	last := 0
	for i := range len(text) + 1 {
		if s, ok := insert[i]; ok {
			out = append(append(out, text[last:i]...), s...)
			last = i
		}
	}
	out = append(out, text[last:]...)
	for _, n := range numbers {
		if !inside[n] {
			outside = append(outside, n)
		}
	}
	return out, outside, nil
}

// TestInstrumented: every function with mutants begins with a switch to its changed copies,
// and mutants outside functions are listed.
func TestInstrumented(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	const text = `package a

var limit = 5

type list []int

func (l list) sum(scale int, _ string, more ...int) (n int, err error) {
	for _, v := range l {
		n += v * scale
	}
	return n + len(more), nil
}

var table = []func(int) int{func(a int) int { return a + 2 }}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	list, err := mutantsOf(path)
	if err != nil {
		t.Fatal(err)
	}
	numbered := map[int]mutant{}
	for i, m := range list {
		numbered[i+1] = m
	}
	out, outside, err := instrumented(path, numbered)
	if err != nil {
		t.Fatal(err)
	}
	if len(outside) != 1 || numbered[outside[0]].before != "5" {
		t.Errorf("mutants outside functions are %v", outside)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), path, out, 0); err != nil {
		t.Errorf("%v in\n%s", err, out)
	}
	for _, want := range []string{
		"return func(scale int, more []int) (n int, err error) {\n\tfor _, v := range l {\n\t\tn -= v * scale",
		"n += v / scale",
		"return n - len(more), nil\n}(scale, more)",
		"return func(a int) int { return a - 2 }(a)",
		"return a + 3 }(a)",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
