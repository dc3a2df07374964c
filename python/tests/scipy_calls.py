"""Functions of SciPy for any array API library with arrays of this package, against NumPy's: run by array_libraries.py.

Expressions of `A`, which makes an array of the library, `xp`, its namespace, and arrays of NumPy; one in each line."""

import numpy as np

_RNG = np.random.default_rng(0)
_V, _W = _RNG.standard_normal(20), _RNG.standard_normal(20)
_P, _A = np.abs(_V) + 0.1, _RNG.standard_normal((4, 5))
# The arrays of the expressions.
ARRAYS = {
    "v": _V,
    "w": _W,
    "p": _P,
    "q": _P / _P.sum(),
    "a": _A,
    "s": _A[:, :4] @ _A[:, :4].T + np.eye(4),
    "c": _V + 1j * _W,
    "k": _RNG.integers(0, 5, 20),
    "im": _RNG.standard_normal((8, 9)),
}

# Expressions that are refused, each with the reason.
REFUSED = {
    "signal.zoom_fft(A(v),[0,.5])": "a list beside an array",
    "signal.order_filter(A(v),np.ones(3),1)": "an array of NumPy beside an array",
    "integrate.nsum(lambda k: 1/k**2,A(np.array(1.)),A(np.array(20.)))": "adds int64 to int32 in place",
    "linalg.bandwidth(A(a))": "for arrays of NumPy: reads x.flags",
    "linalg.issymmetric(A(s))": "for arrays of NumPy: reads x.flags",
    "interpolate.RBFInterpolator(A(im[:,:2]),A(v[:8]))(A(im[:,2:4]))": "for arrays of NumPy: calls x.view",
}

STATS = """
stats.zscore(A(v))
stats.zmap(A(v),A(w))
stats.gzscore(A(p))
stats.skew(A(v))
stats.kurtosis(A(v))
stats.moment(A(v),3)
stats.kstat(A(v))
stats.kstatvar(A(v))
stats.describe(A(v))
stats.entropy(A(p))
stats.entropy(A(p),A(q))
stats.gmean(A(p))
stats.hmean(A(p))
stats.pmean(A(p),2)
stats.variation(A(p))
stats.sem(A(v))
stats.tmean(A(v),(-1,1))
stats.tvar(A(v))
stats.tmin(A(v))
stats.tmax(A(v))
stats.tstd(A(v))
stats.tsem(A(v))
stats.circmean(A(v))
stats.circvar(A(v))
stats.circstd(A(v))
stats.ttest_1samp(A(v),0.)
stats.ttest_ind(A(v),A(w))
stats.ttest_rel(A(v),A(w))
stats.pearsonr(A(v),A(w))
stats.spearmanr(A(v),A(w))
stats.kendalltau(A(v),A(w))
stats.linregress(A(v),A(w))
stats.chisquare(A(p))
stats.power_divergence(A(p))
stats.jarque_bera(A(v))
stats.skewtest(A(v))
stats.kurtosistest(A(v))
stats.normaltest(A(v))
stats.combine_pvalues(A(q))
stats.bartlett(A(v),A(w))
stats.levene(A(v),A(w))
stats.fligner(A(v),A(w))
stats.ansari(A(v),A(w))
stats.f_oneway(A(v),A(w))
stats.kruskal(A(v),A(w))
stats.mannwhitneyu(A(v),A(w))
stats.wilcoxon(A(v))
stats.rankdata(A(v))
stats.directional_stats(A(a))
stats.sigmaclip(A(v))
stats.iqr(A(v))
stats.trim_mean(A(v),.1)
stats.median_abs_deviation(A(v))
stats.quantile(A(v),.3)
stats.ecdf(A(v)).cdf.probabilities
stats.boxcox_llf(0.5,A(p))
stats.permutation_test((A(v),A(w)),lambda x,y,axis: xp.mean(x,axis=axis)-xp.mean(y,axis=axis),n_resamples=20,vectorized=True,rng=np.random.default_rng(1)).statistic
stats.bootstrap((A(v),),lambda x,axis: xp.mean(x,axis=axis),n_resamples=20,vectorized=True,rng=np.random.default_rng(1),method="percentile").standard_error
stats.monte_carlo_test(A(v),lambda size: A(np.random.default_rng(1).standard_normal(size)),lambda x,axis: xp.mean(x,axis=axis),n_resamples=20,vectorized=True).statistic
stats.lmoment(A(v))
stats.ks_1samp(A(v),special.ndtr)
stats.cramervonmises(A(v),special.ndtr).statistic
stats.differential_entropy(A(v))
stats.expectile(A(v))
stats.gstd(A(p))
stats.siegelslopes(A(v),A(w))
stats.theilslopes(A(v),A(w))
stats.brunnermunzel(A(v),A(w))
stats.mood(A(v),A(w))
stats.alexandergovern(A(v),A(w))
stats.tukey_hsd(A(v),A(w)).statistic
stats.false_discovery_control(A(q))
stats.pointbiserialr(A((k>2)*1.),A(w))
stats.chatterjeexi(A(v),A(w))
stats.epps_singleton_2samp(A(v),A(w))
stats.Normal(mu=A(v)).pdf(A(w))
stats.trimboth(A(v),.1)
stats.trim1(A(v),.1)
stats.mode(A(k))
stats.percentileofscore(A(v),0.)
stats.scoreatpercentile(A(v),50)
stats.obrientransform(A(v),A(w))
stats.bws_test(A(v),A(w)).statistic
stats.quantile_test(A(v)).statistic
stats.friedmanchisquare(A(v),A(w),A(p))
stats.page_trend_test(A(a)).statistic
"""

SPECIAL = """
special.erf(A(v))
special.gammaln(A(p))
special.logit(A(q))
special.expit(A(v))
special.ndtr(A(v))
special.ndtri(A(q))
special.log_ndtr(A(v))
special.logsumexp(A(v))
special.softmax(A(v))
special.log_softmax(A(v))
special.xlogy(A(p),A(q))
special.rel_entr(A(p),A(q))
special.entr(A(p))
special.i0(A(v))
special.i1(A(v))
special.i0e(A(v))
special.gammainc(A(p),A(q))
special.gammaincc(A(p),A(q))
special.betainc(A(p),A(p),A(q))
special.psi(A(p))
special.betaln(A(p),A(q))
special.chdtr(A(p),A(q))
special.chdtrc(A(p),A(q))
special.stdtr(A(p),A(v))
special.erfinv(A(q))
special.stdtrit(A(p),A(q))
special.poch(A(p),2.)
special.gamma(A(p))
special.beta(A(p),A(q))
special.exp10(A(v))
special.exp2(A(v))
special.expm1(A(v))
special.log1p(A(p))
special.j0(A(v))
special.jv(A(p),A(p))
special.radian(A(v),0.,0.)
special.kl_div(A(p),A(q))
special.huber(1.,A(v))
special.pdtr(A(k*1.),A(p))
special.bdtr(A(k*1.),7,A(q))
special.binom(A(p),A(q))
special.multigammaln(A(p+3),2)
special.erfcx(A(v))
special.ellipk(A(q))
special.fdtr(A(p),A(p),A(q))
special.nbdtr(A(k),3,A(q))
special.xlog1py(A(p),A(q))
special.erfc(A(v))
special.agm(A(p),A(q))
special.hyp2f1(1.,2.,3.,A(q))
special.loggamma(A(p))
special.spence(A(p))
special.cosm1(A(v))
special.sindg(A(v))
special.cbrt(A(v))
special.round(A(v))
special.owens_t(A(p),A(q))
special.boxcox(A(p),.5)
special.inv_boxcox(A(p),.5)
special.powm1(A(p),A(q))
special.dawsn(A(v))
special.exprel(A(v))
"""

SIGNAL = """
signal.convolve(A(v),A(w))
signal.fftconvolve(A(v),A(w))
signal.oaconvolve(A(v),A(w[:5]))
signal.correlate(A(v),A(w))
signal.hilbert(A(v))
signal.detrend(A(v))
signal.resample(A(v),30)
signal.resample_poly(A(v),2,1)
signal.upfirdn(A(w[:3]),A(v),2,1)
signal.decimate(A(v),2,ftype="fir")
signal.periodogram(A(v))
signal.welch(A(v),nperseg=8)
signal.csd(A(v),A(w),nperseg=8)
signal.stft(A(v),nperseg=8)
signal.coherence(A(v),A(w),nperseg=8)
signal.lfilter(A(w[:3]),A(p[:3]),A(v))
signal.filtfilt(A(w[:2]),A(np.array([1.,.2])),A(v))
signal.sosfilt(A(np.array([[1.,0,0,1,.2,0]])),A(v))
signal.butter(3,.3)
signal.freqz(A(w[:3]))
signal.medfilt(A(v))
signal.savgol_filter(A(v),5,2)
signal.wiener(A(v))
signal.windows.hann(8,xp=xp)
signal.windows.kaiser(8,3.,xp=xp)
signal.windows.gaussian(8,2.,xp=xp)
signal.firwin(5,A(np.array(.3)))
signal.convolve2d(A(im),A(im[:3,:3]))
signal.chirp(A(p),1.,1.,3.)
signal.sawtooth(A(v))
signal.square(A(v))
signal.gausspulse(A(v))
signal.vectorstrength(A(v),2.)
signal.czt(A(v))
signal.zoom_fft(A(v),[0,.5])
signal.minimum_phase(A(w[:7]+9*(np.arange(7)==0)))
signal.tf2zpk(A(w[:3]),A(p[:3]))
signal.zpk2tf(A(w[:2]+0j),A(p[:2]+0j),2.)
signal.tf2sos(A(w[:3]),A(p[:3]))
signal.deconvolve(A(v),A(p[:3]))
signal.lfilter_zi(A(w[:3]),A(np.array([1.,.2,.1])))
signal.order_filter(A(v),np.ones(3),1)
signal.hilbert2(A(im))
signal.envelope(A(v))
signal.cspline1d(A(v))
signal.group_delay((A(w[:3]),A(p[:3])))
signal.unique_roots(A(w[:4]))
signal.residue(A(w[:2]),A(p[:3]))
signal.bilinear(A(w[:2]),A(p[:3]))
signal.symiirorder1(A(v),.1,.2)
signal.savgol_coeffs(5,2,xp=xp)
signal.gauss_spline(A(v),3)
signal.kaiserord(60,.2)
signal.remez(7,A(np.array([0,.1,.2,.5])),A(np.array([1.,0.])))
"""

FFT = """
fft.fft(A(c))
fft.rfft(A(v))
fft.irfft(A(c))
fft.fft2(A(a+0j))
fft.fftn(A(a+0j))
fft.rfftn(A(a))
fft.irfftn(A(a+0j))
fft.hfft(A(c))
fft.ihfft(A(v))
fft.dct(A(v))
fft.idct(A(v))
fft.dst(A(v))
fft.dctn(A(a))
fft.fftshift(A(v))
fft.fftfreq(8,xp=xp)
fft.next_fast_len(7)
fft.fht(A(p),.1,.5)
"""

INTEGRATE = """
integrate.trapezoid(A(v))
integrate.simpson(A(v))
integrate.cumulative_trapezoid(A(v))
integrate.cumulative_simpson(A(v))
integrate.tanhsinh(lambda x: x**2,A(np.array(0.)),A(p))
integrate.nsum(lambda k: 1/k**2,A(np.array(1.)),A(np.array(20.)))
integrate.cubature(lambda x: xp.sum(x,axis=-1),A(np.zeros(2)),A(np.ones(2))).estimate
integrate.quad_vec(lambda x: x*A(v),0.,1.)[0]
integrate.fixed_quad(lambda x: x**2,0.,1.)
integrate.lebedev_rule(3)
integrate.quad(lambda x: x**2,0,1)
"""

OPTIMIZE = """
optimize.elementwise.find_root(lambda x,c: x**2-c,(A(np.zeros(20)),A(p+1)),args=(A(p),))
optimize.elementwise.bracket_root(lambda x,c: x**2-c,A(np.zeros(20)),A(p+.1),args=(A(p),))
optimize.elementwise.find_minimum(lambda x,c: (x-c)**2,(A(p-1),A(p+.3),A(p+2)),args=(A(p),))
optimize.elementwise.bracket_minimum(lambda x,c: (x-c)**2,A(p-1.),args=(A(p),))
optimize.newton(lambda x,c: x**2-c,A(p+.5),args=(A(p),))
optimize.newton(lambda x,c: x**2-c,A(p+.5),fprime=lambda x,c: 2*x,args=(A(p),))
optimize.curve_fit(lambda x,a,b: a*x+b,A(v),A(w))
optimize.rosen(A(v))
optimize.rosen_der(A(v))
optimize.rosen_hess(A(v))
optimize.rosen_hess_prod(A(v),A(w))
optimize.minimize(lambda x: ((x-1)**2).sum(),A(v[:3])).x
optimize.root(lambda x: x**2-4,A(p[:3])).x
optimize.least_squares(lambda x: x-1,A(v[:3])).x
optimize.fsolve(lambda x: x**2-4,A(p[:3]))
optimize.leastsq(lambda x: x-1,A(v[:3]))[0]
optimize.approx_fprime(A(v[:3]),optimize.rosen)
optimize.check_grad(optimize.rosen,optimize.rosen_der,A(v[:3]))
optimize.linear_sum_assignment(A(s))
optimize.nnls(A(s),A(v[:4]))
optimize.lsq_linear(A(s),A(v[:4])).x
optimize.linprog(A(v[:3]*0+1)).x
"""

NDIMAGE = """
ndimage.gaussian_filter(A(im),1.)
ndimage.uniform_filter(A(im),3)
ndimage.median_filter(A(im),3)
ndimage.sobel(A(im))
ndimage.laplace(A(im))
ndimage.zoom(A(im),2.)
ndimage.rotate(A(im),10.)
ndimage.shift(A(im),1.)
ndimage.label(A((im>0)*1))
ndimage.sum_labels(A(im))
ndimage.center_of_mass(A(np.abs(im)))
ndimage.distance_transform_edt(A((im>0)*1))
ndimage.binary_dilation(A(im>0))
ndimage.convolve(A(im),A(im[:3,:3]))
ndimage.correlate1d(A(im),A(w[:3]))
ndimage.map_coordinates(A(im),A(np.array([[1.,2.],[1.,2.]])))
ndimage.affine_transform(A(im),A(np.eye(2)))
ndimage.maximum_filter(A(im),3)
ndimage.grey_erosion(A(im),3)
ndimage.histogram(A(im),-1.,1.,4)
ndimage.extrema(A(im))
ndimage.find_objects(A((im>0)*1))
"""

CLUSTER = """
cluster.vq.whiten(A(a))
cluster.vq.kmeans(A(im),A(im[:2]))
cluster.vq.kmeans2(A(im),A(im[:2]))
cluster.vq.vq(A(im),A(im[:2]))
cluster.hierarchy.linkage(A(im))
cluster.hierarchy.fcluster(cluster.hierarchy.linkage(A(im)),1.)
cluster.hierarchy.cophenet(cluster.hierarchy.linkage(A(im)))
cluster.hierarchy.inconsistent(cluster.hierarchy.linkage(A(im)))
cluster.hierarchy.leaves_list(cluster.hierarchy.linkage(A(im)))
"""

DIFFERENTIATE = """
differentiate.derivative(lambda x: x**3,A(v))
differentiate.jacobian(lambda x: x**2,A(v[:3]))
differentiate.hessian(lambda x: xp.sum(x**2,axis=0),A(v[:3]))
"""

LINALG = """
linalg.block_diag(A(a),A(s))
linalg.fiedler(A(v))
linalg.orth(A(a))
linalg.inv(A(s))
linalg.solve(A(s),A(v[:4]))
linalg.det(A(s))
linalg.expm(A(s))
linalg.svd(A(a))
linalg.eigh(A(s))
linalg.cholesky(A(s))
linalg.lu(A(s))
linalg.qr(A(a))
linalg.pinv(A(a))
linalg.norm(A(a))
linalg.toeplitz(A(v))
linalg.circulant(A(v))
linalg.hankel(A(v))
linalg.companion(A(v))
linalg.solve_triangular(A(s),A(v[:4]))
linalg.null_space(A(a))
linalg.lstsq(A(s),A(v[:4]))
linalg.sqrtm(A(s))
linalg.logm(A(s))
linalg.khatri_rao(A(a),A(a))
linalg.bandwidth(A(a))
linalg.issymmetric(A(s))
linalg.convolution_matrix(A(v),5)
linalg.leslie(A(v),A(p[:19]))
"""

SPATIAL = """
spatial.transform.Rotation.from_quat(A(v[:4])).as_matrix()
spatial.transform.Rotation.from_rotvec(A(v[:3])).apply(A(w[:3]))
spatial.transform.Rotation.from_euler("xyz",A(v[:3])).as_euler("xyz")
spatial.distance.cdist(A(im),A(im))
spatial.distance.pdist(A(im))
spatial.distance.euclidean(A(v),A(w))
spatial.distance.cosine(A(v),A(w))
spatial.transform.RigidTransform.from_translation(A(v[:3])).as_matrix()
"""

CONSTANTS = """
constants.convert_temperature(A(v),"C","K")
constants.lambda2nu(A(p))
constants.nu2lambda(A(p))
"""

INTERPOLATE = """
interpolate.make_interp_spline(A(np.arange(20.)),A(v))(A(p))
interpolate.AAA(A(np.arange(20.)),A(v))(A(p))
interpolate.CubicSpline(A(np.arange(20.)),A(v))(A(p))
interpolate.PchipInterpolator(A(np.arange(20.)),A(v))(A(p))
interpolate.Akima1DInterpolator(A(np.arange(20.)),A(v))(A(p))
interpolate.RegularGridInterpolator((A(np.arange(8.)),A(np.arange(9.))),A(im))(A(np.abs(im[:,:2])))
interpolate.RBFInterpolator(A(im[:,:2]),A(v[:8]))(A(im[:,2:4]))
interpolate.BarycentricInterpolator(A(np.arange(5.)),A(v[:5]))(A(p))
interpolate.KroghInterpolator(A(np.arange(5.)),A(v[:5]))(A(p))
interpolate.interpn((A(np.arange(8.)),A(np.arange(9.))),A(im),A(np.abs(im[:,:2])))
interpolate.interp1d(A(np.arange(20.)),A(v))(A(p))
interpolate.BSpline(A(np.arange(9.)),A(v[:5]),3)(A(p))
interpolate.PPoly(A(a),A(np.arange(6.)))(A(p))
interpolate.make_smoothing_spline(A(np.arange(20.)),A(v))(A(p))
"""

EXPRESSIONS = [
    each
    for text in (
        STATS,
        SPECIAL,
        SIGNAL,
        FFT,
        INTEGRATE,
        OPTIMIZE,
        NDIMAGE,
        CLUSTER,
        DIFFERENTIATE,
        LINALG,
        SPATIAL,
        CONSTANTS,
        INTERPOLATE,
    )
    for each in text.split("\n")
    if each
]
