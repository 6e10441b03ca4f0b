"""Operators of ATen that are made of others: what autograd saves is saved by those inside.  PyTorch
calls them CompositeImplicitAutograd; these are the ones that models use."""

NAMES = frozenset("""
_batch_norm_impl_index _cast_Double _cast_Float _cast_Half _fused_rms_norm
_scaled_dot_product_attention_math _weight_norm
absolute adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adjoint
alpha_dropout arctan2 argsort atleast_1d atleast_2d atleast_3d avg_pool1d batch_norm bilinear
broadcast_tensors broadcast_to cdist chain_matmul chunk clip clip_ column_stack concat concatenate
conj contiguous conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
cosine_embedding_loss cosine_similarity cross cross_entropy_loss ctc_loss
cudnn_is_acceptable diff divide divide_
dropout dropout_ dsplit dstack einsum embedding_bag expand_as feature_alpha_dropout feature_dropout
feature_dropout_ flatten float_power frobenius_norm gradient greater greater_equal grid_sampler
group_norm gru gru_cell hinge_embedding_loss hsplit hstack imag inner instance_norm
isclose isfinite item kl_div kron l1_loss layer_norm less less_equal linalg_matmul
linalg_matrix_norm linalg_multi_dot linalg_norm linalg_vecdot linear log_sigmoid log_softmax lstm
lstm_cell mH mT margin_ranking_loss matmul max_pool1d max_pool2d max_pool3d meshgrid moveaxis
movedim multiply multiply_ narrow negative nll_loss nll_loss2d nll_loss_nd norm_except_dim not_equal
numpy_T one_hot outer pad pairwise_distance poisson_nll_loss positive prelu quantile ravel real
relu6 relu6_ repeat_interleave reshape reshape_as resolve_conj resolve_neg rms_norm rnn_relu
rnn_relu_cell rnn_tanh rnn_tanh_cell row_stack scaled_dot_product_attention selu selu_ softmax
special_erf special_expit special_log_softmax special_softmax square square_ stft subtract
subtract_ sum_to_size swapaxes swapdims take_along_dim tensor_split tensordot tile to trapezoid
triplet_margin_loss true_divide true_divide_ type_as unflatten unsafe_chunk view_as vsplit vstack
""".split())
