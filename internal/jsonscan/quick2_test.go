package jsonscan
import ("testing";"fmt";"math/rand")
func BenchmarkStr(b *testing.B) {
	for _,sp:=range []int{6,12,20,40,80,400,100000} {
		r:=rand.New(rand.NewSource(1)); var t []byte
		for len(t)<32000 { n:=r.Intn(2*sp); for i:=0;i<n&&len(t)<32000;i++ {t=append(t,"abcdefghij klm"[r.Intn(14)])}; e:=[]string{`\n`,`\n`,`\"`,`\t`,`\\`,`\"`}[r.Intn(6)]; t=append(t,e...)}
		t=append(t,'"'); n:=len(t); t=append(t,"\n                                   "...)
		b.Run(fmt.Sprint(sp),func(b *testing.B){ b.SetBytes(int64(n)); for b.Loop() { s:=scanner{end:n}; if s.str(t,0)!=n {b.Fatal("x")} } })
	}
}
